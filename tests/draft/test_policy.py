from __future__ import annotations

import time
from dataclasses import replace

import pytest

from specdec_cli.draft.arms import Arm
from specdec_cli.draft.costs import CostProfile, RowCurve
from specdec_cli.draft.model import ModelDrafter
from specdec_cli.draft.ngram import NgramDrafter
from specdec_cli.draft.policy import PolicyDrafter
from specdec_cli.draft.values import Budget, Draft, Outcome
from specdec_cli.errors import EngineFault
from specdec_cli.sampling.distribution import Distribution
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import SamplingSettings
from tests.support.simulator import ScriptedDrafter, World, copy_script, model_script, play_policy
from tests.support.toy import N_VOCAB, ToyContext, table_logits
from tests.support.worlds import CPU, DRAFT_CPU, GPU, GPU_DRAFT, MS

TARGET = table_logits(1)
FLAT = {1: 20 * MS, 16: 22 * MS}
CHEAP = {1: 1 * MS, 32: 2 * MS}
AS_LARGE = {1: 20 * MS, 32: 200 * MS}
PROMPT = [5, 9, 2, 5, 9]


def flat_profile(draft: dict[int, float] | None = CHEAP) -> CostProfile:
    return CostProfile(RowCurve(FLAT), None if draft is None else RowCurve(draft))


def toy_model(context: ToyContext) -> ModelDrafter:
    settings = SamplingSettings()
    return ModelDrafter(
        context,
        sampler=Sampler(settings, N_VOCAB),
        random=RandomSource(0),
        rule="match",
        target_n_vocab=N_VOCAB,
        prefill_in_begin=False,
    )


def say(policy: PolicyDrafter, text: list[int], rounds: int, budget: Budget = Budget(8)) -> list[Draft]:  # noqa: B008
    """Greedy rounds of the toy target, whose costs are `FLAT`."""
    drafts = []
    for _ in range(rounds):
        draft = policy.propose(budget)
        drafts.append(draft)
        tokens: list[int] = []
        while True:
            tokens.append(int(TARGET([*text, *tokens]).argmax()))
            if len(tokens) > len(draft) or draft.tokens[len(tokens) - 1] != tokens[-1]:
                break
        text.extend(tokens)
        seconds = RowCurve(FLAT).seconds(1 + len(draft))
        policy.accept(
            Outcome(draft, tuple(range(len(tokens) - 1)), tuple(tokens), seconds, 1 * MS * len(draft))
        )
    return drafts


def test_real_drafters_under_the_policy_follow_the_text_and_say_what_the_target_says() -> None:
    context = ToyContext(TARGET)
    policy = PolicyDrafter([NgramDrafter()], [toy_model(context)], flat_profile(), 8)
    text = list(PROMPT)
    policy.begin(text)
    assert context.tokens == PROMPT[:-1]
    drafts = say(policy, text, 20)
    assert context.tokens == text[: context.length]
    assert len(text) >= len(PROMPT) + 100
    assert {draft.source for draft in drafts if len(draft)} <= {"ngram", "model"}
    summary = policy.summary()
    assert summary.state == "on"
    assert sum(summary.rounds.values()) == 20
    assert summary.gain is not None
    assert summary.gain > 2


def test_a_draft_model_that_can_never_pay_is_never_asked() -> None:
    context = ToyContext(TARGET)
    policy = PolicyDrafter([], [toy_model(context)], flat_profile(AS_LARGE), 8)
    text = list(PROMPT)
    policy.begin(text)
    assert all(len(draft) == 0 for draft in say(policy, text, 100))
    assert context.decoded == []
    summary = policy.summary()
    assert summary.state == "auto-off"
    assert "even if every token were right" in summary.reason
    assert summary.gain == pytest.approx(1.0)


def test_a_full_draft_context_leaves_the_rest_to_the_others() -> None:
    context = ToyContext(TARGET, n_ctx=12)
    policy = PolicyDrafter([NgramDrafter()], [toy_model(context)], flat_profile(), 8)
    text = list(PROMPT)
    policy.begin(text)
    say(policy, text, 10)
    assert policy.notice is not None
    decoded = len(context.decoded)
    say(policy, text, 10)
    assert len(context.decoded) == decoded


def test_budget_and_outer_rule_bound_every_draft() -> None:
    for budget, most in (
        (Budget(3), 3),
        (Budget(8, lambda drafted, confidence: drafted < 2), 2),
        (Budget(0), 0),
    ):
        policy = PolicyDrafter([NgramDrafter()], [toy_model(ToyContext(TARGET))], flat_profile(), 8)
        text = list(PROMPT)
        policy.begin(text)
        lengths = [len(draft) for draft in say(policy, text, 15, budget)]
        assert max(lengths) == most


def test_tokens_that_it_was_not_asked_about_reach_all_drafters() -> None:
    context = ToyContext(TARGET)
    policy = PolicyDrafter([NgramDrafter()], [toy_model(context)], flat_profile(), 8)
    policy.begin(PROMPT)
    policy.observe([7, 7, 7])
    text = [*PROMPT, 7, 7, 7]
    say(policy, text, 5)
    assert context.tokens == text[: context.length]


class SampledDrafter(ScriptedDrafter):
    """Its tokens were drawn, and come with the distributions they were drawn from."""

    def propose(self, budget: Budget) -> Draft:
        draft = super().propose(budget)
        return replace(draft, distributions=tuple(Distribution.point_mass(token) for token in draft.tokens))


def test_a_sampled_draft_is_never_cut_after_it_was_drawn() -> None:
    """Dropping what was drawn because it is unlikely would bias the answer; all of it is verified."""
    script = model_script([0.5] * 2000, 3)
    drafter = SampledDrafter("model", script, GPU_DRAFT)
    policy = PolicyDrafter([], [drafter], flat_profile(), 8)
    policy.begin([0])
    position, unlikely = 0, 0
    asked: list[int] = []
    original = drafter.propose

    def watched(budget: Budget) -> Draft:
        draft = original(budget)
        asked.append(len(draft))
        return draft

    drafter.propose = watched  # type: ignore[method-assign]
    for _ in range(150):
        asked.clear()
        draft = policy.propose(Budget(8))
        assert len(draft) == (asked[0] if asked else 0)
        unlikely += len(draft) > 0 and draft.confidences[-1] < 0.05
        accepted = min(len(draft), script.run[position])
        tokens = tuple(2 * (position + i) for i in range(accepted + 1))
        policy.accept(Outcome(draft, tuple(range(accepted)), tokens, 20 * MS, 1 * MS))
        position += len(tokens)
    assert unlikely > 5


def test_a_deterministic_draft_may_be_cut_and_still_teaches() -> None:
    script = copy_script(100, 1, share=1.0, noise=1.0)
    arm = Arm(ScriptedDrafter("ngram", script))
    arm.ask(Budget(8))
    assert len(arm.verified_prefix(3)) == 3
    assert arm.verified_prefix(3).tokens == arm.draft.tokens[:3]
    before = list(arm.acceptance.rates)
    arm.learn(Outcome(Draft(), (), (0,)), used=False)
    assert arm.acceptance.rates != before


def test_a_plain_round_now_and_then_keeps_the_comparison_honest() -> None:
    world = World("always", GPU, GPU_DRAFT, model_script([0.99] * 9000, 1, informative=False), seed=1)
    _, policy = play_policy(world, PolicyDrafter, 500)
    summary = policy.summary()  # type: ignore[attr-defined]
    assert 3 <= summary.rounds["none"] <= 20
    assert summary.text.endswith(f"estimated from {summary.rounds['none']} plain rounds")


@pytest.mark.parametrize("machine", ["F16", "GPU"])
def test_the_estimated_gain_is_near_the_true_one(machine: str) -> None:
    target, draft = (GPU, GPU_DRAFT) if machine == "GPU" else (CPU[machine], DRAFT_CPU)
    world = World("gain", target, draft, model_script([0.85] * 9000, 2), seed=2)
    played, policy = play_policy(world, PolicyDrafter, 600)
    true_gain = played.tokens * target(1) / played.seconds
    assert policy.summary().gain == pytest.approx(true_gain, rel=0.08)  # type: ignore[attr-defined]


def test_the_reason_for_being_off_names_what_would_be_needed() -> None:
    world = World("off", CPU["F16"], DRAFT_CPU, model_script([0.2] * 3000, 4), seed=4)
    _, policy = play_policy(world, PolicyDrafter, 300)
    summary = policy.summary()  # type: ignore[attr-defined]
    assert summary.state == "auto-off"
    assert "are needed to pay here" in summary.reason
    only_ngram = World("off", CPU["Q8_0"], DRAFT_CPU, None, copy_script(3000, 5, share=0.0), seed=5)
    _, policy = play_policy(only_ngram, PolicyDrafter, 100)
    assert "does not repeat itself" in policy.summary().reason  # type: ignore[attr-defined]


def test_without_drafters_it_is_off_and_without_costs_it_is_a_fault() -> None:
    policy = PolicyDrafter([], [], flat_profile(None), 8)
    policy.begin(PROMPT)
    assert len(policy.propose(Budget(4))) == 0
    assert policy.summary().state == "off"
    assert policy.summary().text == "nothing to draft with"
    with pytest.raises(EngineFault):
        PolicyDrafter([], [toy_model(ToyContext(TARGET))], flat_profile(None), 8)


def test_skipping_takes_the_end_of_the_text_for_all_of_it() -> None:
    context = ToyContext(TARGET)
    drafter = toy_model(context)
    text = list(range(1, 21))
    drafter.begin(text)
    drafter.skip(4)
    assert drafter.lag == 4
    assert drafter.propose(Budget(2)).tokens == tuple(
        int(TARGET([*text, *more]).argmax()) for more in ([], [int(TARGET(text).argmax())])
    )
    assert context.decoded[:4] == text[-4:]
    drafter.skip(1)
    drafter.observe([3, 3, 3])
    assert context.tokens == text[-4:]
    drafter.propose(Budget(1))
    assert context.tokens == [*text[-4:], 3, 3, 3]
    drafter.begin([*text, 3, 3, 4])
    assert context.tokens == []
    assert len(drafter.propose(Budget(3))) == 3
    assert context.tokens[: len(text) + 3] == [*text, 3, 3, 4]


def test_skipping_is_not_done_when_catching_up_is_shorter() -> None:
    context = ToyContext(TARGET)
    drafter = toy_model(context)
    drafter.begin(PROMPT)
    drafter.propose(Budget(1))
    drafter.observe([1])
    drafter.skip(8)
    drafter.propose(Budget(1))
    assert context.tokens == [*PROMPT, 1]


def test_overhead_per_round_is_small() -> None:
    """The bar is 60 µs on a quiet machine; this includes the scripted drafters, and the machine may be busy."""

    world = World("speed", GPU, GPU_DRAFT, model_script([0.7] * 9000, 1), seed=1)
    best = 1.0
    for _ in range(3):
        begun = time.process_time()
        play_policy(world, PolicyDrafter, 200)
        best = min(best, (time.process_time() - begun) / 200)
    assert best < 600e-6
