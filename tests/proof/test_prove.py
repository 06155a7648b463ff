"""The whole proof on the toy model: right judges pass, wrong ones are caught by the parts that can see them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from specdec_cli.errors import SpecdecError, UsageProblem
from specdec_cli.proof.prompts import YOURS, Prompt
from specdec_cli.proof.prove import ProofPlan, prove
from specdec_cli.proof.report import ProofReport
from tests.support.trials import (
    PROMPTS,
    WORDS,
    SpoiledBackend,
    never_the_residual,
    one_too_many,
    shaking,
    toy_subject,
)

PLAN = ProofPlan(max_tokens=24, samples=100)


def proved(folder: Path, plan: ProofPlan = PLAN, **options: Any) -> ProofReport:
    subject = toy_subject(folder, **options)
    try:
        return prove(subject, PROMPTS, plan)
    finally:
        subject.engine.close()


def test_lossless_drafting_is_found_identical_under_reject(tmp_path: Path) -> None:
    report = proved(tmp_path)
    assert report.verdict == "identical"
    assert report.differences == ()
    assert report.greedy.prompts == 4
    assert 0 < report.greedy.accepted < report.greedy.drafted
    assert report.greedy.tokens > 60
    assert report.same_seed.answers == 8
    assert report.noise == 0.0
    sampled = report.sampled
    assert sampled is not None
    assert (sampled.rule, sampled.prompts, sampled.samples, sampled.first_tokens) == ("reject", 4, 100, 3)
    assert 0 < sampled.accepted < sampled.drafted
    assert sampled.p_value > 0.01
    assert report.rollback.largest.change == 0.0


@pytest.mark.parametrize(("drafter", "accept"), [("ngram", "auto"), ("model", "match")])
def test_the_two_sample_test_judges_by_the_rule_asked_for(drafter: str, accept: Any, tmp_path: Path) -> None:
    report = proved(tmp_path, ProofPlan(max_tokens=24, samples=50, accept=accept), drafter=drafter)
    assert report.verdict == "identical"
    assert report.sampled is not None
    assert report.sampled.rule == "match"
    assert report.sampled.p_value > 0.01


def test_a_judge_that_accepts_one_token_too_many_is_caught_by_every_comparison(tmp_path: Path) -> None:
    report = proved(tmp_path, judged_by=one_too_many)
    assert report.verdict == "different"
    assert report.greedy.verdict == "different"
    assert report.same_seed.verdict == "different"
    assert report.sampled is not None
    assert report.sampled.verdict == "different"
    assert report.rollback.verdict == "identical"
    first = report.differences[0]
    assert first.verdict == "different"
    assert first.gap > 10 * report.tie_threshold
    assert first.expected is not None
    assert first.found is not None
    assert first.expected.id != first.found.id


def test_the_gap_of_a_difference_is_that_of_the_logits(tmp_path: Path) -> None:
    subject = toy_subject(tmp_path, judged_by=one_too_many)
    report = prove(subject, PROMPTS, ProofPlan(max_tokens=24, samples=0))
    subject.engine.close()
    assert report.sampled is None
    text = subject.engine.target.text
    for difference in report.greedy.differences:
        prompt = text.tokenize(PROMPTS[difference.prompt - 1].text, add_special=True, parse_special=False)
        assert difference.expected is not None
        assert difference.found is not None
        answer = list(prompt)
        for _ in range(difference.position - 1):
            answer.append(int(WORDS(answer).argmax()))
        row = WORDS(answer)
        assert row.argmax() == difference.expected.id
        assert difference.gap == pytest.approx(row.max() - row[difference.found.id], abs=1e-4)
        assert subject.text_of(answer[len(prompt) :]).endswith(difference.before)


def test_a_judge_that_forgets_the_residual_is_caught_by_the_distribution_alone(tmp_path: Path) -> None:
    report = proved(tmp_path, ProofPlan(max_tokens=12, samples=200), judged_by=never_the_residual)
    assert report.greedy.verdict == "identical"
    assert report.same_seed.verdict == "identical"
    assert report.sampled is not None
    assert report.sampled.verdict == "different"
    largest = report.sampled.largest
    assert largest is not None
    assert abs(largest.plain_share - largest.drafted_share) > 0.1


def test_noise_makes_ties_and_they_are_called_so(tmp_path: Path) -> None:
    backend = SpoiledBackend(target_logits=WORDS, spoil=shaking(0.1))
    report = proved(tmp_path, ProofPlan(max_tokens=60, samples=0), backend=backend)
    assert report.verdict == "tie"
    assert report.greedy.differences
    assert all(difference.gap < report.tie_threshold < 0.41 for difference in report.differences)


def test_noise_does_not_excuse_a_wrong_judge(tmp_path: Path) -> None:
    backend = SpoiledBackend(target_logits=WORDS, spoil=shaking(0.1))
    report = proved(tmp_path, ProofPlan(24, samples=0), backend=backend, judged_by=one_too_many)
    assert report.greedy.verdict == report.same_seed.verdict == "different"


def test_a_drafter_that_drafts_nothing_proves_nothing(tmp_path: Path) -> None:
    subject = toy_subject(tmp_path, drafter="ngram")
    with pytest.raises(SpecdecError, match="ngram drafted nothing in 1 answers"):
        prove(subject, [Prompt(YOURS, "ab")], ProofPlan(max_tokens=3))
    subject.engine.close()
    with pytest.raises(UsageProblem, match="nothing to prove"):
        toy_subject(tmp_path, drafter="none")


def test_the_same_seed_asks_the_same_again(tmp_path: Path) -> None:
    plan = ProofPlan(max_tokens=12, samples=30, seed=5)
    first, second, other = (
        proved(tmp_path, plan),
        proved(tmp_path, plan),
        proved(tmp_path, ProofPlan(12, 30, 6)),
    )
    assert first.sampled == second.sampled
    assert first.sampled != other.sampled


def test_an_interruption_ends_the_proof(tmp_path: Path) -> None:
    calls = Counter[str]()

    def interrupted() -> bool:
        calls["asked"] += 1
        return calls["asked"] > 100

    subject = toy_subject(tmp_path, interrupted=interrupted)
    with pytest.raises(KeyboardInterrupt):
        prove(subject, PROMPTS, PLAN)
    subject.engine.session.check()
    subject.engine.close()


def test_progress_goes_from_part_to_part_and_ends_each(tmp_path: Path) -> None:
    heard: dict[str, list[float]] = {}
    subject = toy_subject(tmp_path)
    prove(subject, PROMPTS, ProofPlan(12, 20), lambda what, done: heard.setdefault(what, []).append(done))
    subject.engine.close()
    assert list(heard) == ["greedy answers", "the same seed", "first tokens of 20 answers", "rollback"]
    for fractions in heard.values():
        assert fractions == sorted(fractions)
        assert fractions[-1] == 1.0
