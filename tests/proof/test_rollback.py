"""Rollback on trial: exact in the toy, and contexts that keep a trace or keep the tokens are caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdec_cli.proof.report import RollbackReport
from specdec_cli.proof.rollback import prove_rollback
from tests.support.toy import ToyContext
from tests.support.trials import WORDS, SpoiledBackend, remembering, toy_subject

PROMPTS = [[5, 4, 3, 2, 1], [7], [1, 2, 3, 4, 5, 6, 7, 8, 9]]


def rolled_back(folder: Path, spoil: object = lambda _context: None, **options: object) -> RollbackReport:
    backend = SpoiledBackend(target_logits=WORDS, spoil=spoil)  # type: ignore[arg-type]
    subject = toy_subject(folder, backend=backend, **options)  # type: ignore[arg-type]
    subject.drafted([3, 2, 1], 12)
    done: list[float] = []
    report = prove_rollback(subject, PROMPTS, done.append)
    assert done[-1] == 1.0
    assert subject.drafted([3, 2, 1], 12).tokens == subject.plain([3, 2, 1], 12).tokens
    subject.engine.close()
    assert all(context.closed for model in backend.models for context in model.contexts)
    return report


def test_every_length_is_tried_in_both_models(tmp_path: Path) -> None:
    report = rolled_back(tmp_path, draft_max=3)
    tried = [(case.model, case.position, case.rejected) for case in report.cases]
    of_one = [(0, 1), (0, 2), (0, 3), (8, 3)]
    assert tried == [(model, *case) for model in ("target", "draft") for case in of_one]
    assert report.verdict == "identical"
    assert report.largest.change == 0.0


def test_without_a_draft_model_only_the_target_is_tried(tmp_path: Path) -> None:
    assert {case.model for case in rolled_back(tmp_path, drafter="ngram").cases} == {"target"}


@pytest.mark.parametrize("draft_max", [1, 4])
def test_a_context_that_keeps_a_trace_is_caught(draft_max: int, tmp_path: Path) -> None:
    report = rolled_back(tmp_path, remembering, draft_max=draft_max)
    assert report.verdict == "different"
    assert report.largest.change > 0.009


def test_a_context_that_keeps_the_tokens_is_caught(tmp_path: Path) -> None:
    subject = toy_subject(tmp_path)
    target = subject.engine.session.target
    assert isinstance(target, ToyContext)
    target.rolls_back = False
    report = prove_rollback(subject, PROMPTS, lambda _done: None)
    assert report.verdict == "different"
    assert report.largest.change == float("inf")
    target.rolls_back = True
    subject.engine.close()


def test_a_prompt_that_leaves_no_room_for_a_draft_is_left_out(tmp_path: Path) -> None:
    subject = toy_subject(tmp_path)
    cases = prove_rollback(subject, [[1] * 254, [1, 2]], lambda _done: None).cases
    assert {case.position for case in cases} == {1}
    subject.engine.close()
