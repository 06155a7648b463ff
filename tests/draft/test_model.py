from __future__ import annotations

import timeit
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest

from specdec_cli.draft.confidence import softmax_probability
from specdec_cli.draft.model import ModelDrafter
from specdec_cli.draft.values import Budget, Draft, Outcome
from specdec_cli.errors import SpecdecError
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import SamplingSettings
from specdec_cli.verify.walk import judge
from tests.support.toy import N_VOCAB, ToyContext, noisy, table_logits

TARGET = table_logits(1)
PROMPT = [5, 9, 2, 5, 9]


def make_drafter(
    context: ToyContext,
    *,
    settings: SamplingSettings | None = None,
    rule: Literal["match", "reject"] = "match",
    n_vocab: int = N_VOCAB,
    prefill_in_begin: bool = True,
) -> ModelDrafter:
    settings = settings or SamplingSettings()
    return ModelDrafter(
        context,
        sampler=Sampler(settings, n_vocab),
        random=RandomSource(settings.seed),
        rule=rule,
        target_n_vocab=n_vocab,
        prefill_in_begin=prefill_in_begin,
    )


def continuation(tokens: Sequence[int], count: int) -> list[int]:
    text = list(tokens)
    for _ in range(count):
        text.append(int(TARGET(text).argmax()))
    return text[len(tokens) :]


def outcome(draft: Draft, accepted: int, own: int) -> Outcome:
    return Outcome(draft, tuple(range(accepted)), (*draft.tokens[:accepted], own))


def test_a_draft_is_what_the_model_would_say() -> None:
    drafter = make_drafter(ToyContext(TARGET))
    drafter.begin(PROMPT)
    draft = drafter.propose(Budget(5))
    assert list(draft.tokens) == continuation(PROMPT, 5)
    assert draft.source == "model"
    assert draft.distributions is None


def test_the_prompt_is_decoded_in_begin_but_for_its_last_token() -> None:
    context = ToyContext(TARGET)
    drafter = make_drafter(context)
    drafter.begin(PROMPT)
    assert context.decoded == PROMPT[:-1]
    assert drafter.lag == 1


def test_a_lazy_drafter_decodes_nothing_before_it_is_asked() -> None:
    context = ToyContext(TARGET)
    drafter = make_drafter(context, prefill_in_begin=False)
    drafter.begin(PROMPT)
    drafter.observe([1, 2, 3])
    assert context.decoded == []
    assert drafter.lag == len(PROMPT) + 3
    drafter.propose(Budget(1))
    assert context.decoded == [*PROMPT, 1, 2, 3]


def test_nothing_is_decoded_twice_when_nothing_is_rejected() -> None:
    context = ToyContext(TARGET)
    drafter = make_drafter(context)
    drafter.begin(PROMPT)
    text = list(PROMPT)
    for length in (1, 2, 4, 8, 3):
        draft = drafter.propose(Budget(length))
        own = continuation([*text, *draft.tokens], 1)[0]
        drafter.accept(outcome(draft, len(draft), own))
        text += [*draft.tokens, own]
        # Lag: the draft's last token and the target's own.
        assert drafter.lag == 2
        assert context.tokens == text[:-2]
    assert context.decoded == text[:-2]


def test_after_a_rejection_only_the_unseen_is_decoded() -> None:
    context = ToyContext(TARGET)
    drafter = make_drafter(context)
    drafter.begin(PROMPT)
    draft = drafter.propose(Budget(6))
    own = (draft.tokens[2] + 1) % N_VOCAB
    drafter.accept(outcome(draft, 2, own))
    assert context.tokens == [*PROMPT, *draft.tokens[:2]]
    context.decoded.clear()
    drafter.propose(Budget(1))
    assert context.decoded == [own]


def test_what_the_policy_cut_off_but_the_target_said_after_all_stays_in_the_cache() -> None:
    context = ToyContext(TARGET)
    drafter = make_drafter(context)
    drafter.begin(PROMPT)
    draft = drafter.propose(Budget(5))
    shorter = Draft.chain(draft.tokens[:2], source=draft.source)
    drafter.accept(outcome(shorter, 2, draft.tokens[2]))
    context.decoded.clear()
    again = drafter.propose(Budget(2))
    assert again.tokens == draft.tokens[3:5]
    # The last token is decoded again, for its row.
    assert context.decoded == [draft.tokens[2], draft.tokens[3]]


def test_tokens_committed_without_it_are_caught_up_in_one_decode() -> None:
    context = ToyContext(TARGET)
    drafter = make_drafter(context)
    drafter.begin(PROMPT)
    drafter.observe([1, 2])
    drafter.observe([3])
    assert drafter.lag == 4
    assert list(drafter.propose(Budget(3)).tokens) == continuation([*PROMPT, 1, 2, 3], 3)


def test_a_stop_inside_the_accepted_run_leaves_a_cache_that_can_go_on() -> None:
    context = ToyContext(TARGET)
    drafter = make_drafter(context)
    drafter.begin(PROMPT)
    draft = drafter.propose(Budget(5))
    drafter.accept(Outcome(draft, (0, 1), draft.tokens[:2]))
    text = [*PROMPT, *draft.tokens[:2]]
    assert context.tokens == text[:-1]
    assert list(drafter.propose(Budget(3)).tokens) == continuation(text, 3)


def test_a_proposal_that_was_never_judged_is_forgotten() -> None:
    context = ToyContext(TARGET)
    drafter = make_drafter(context)
    drafter.begin(PROMPT)
    drafter.propose(Budget(5))
    drafter.observe([7])
    assert context.tokens == PROMPT
    assert list(drafter.propose(Budget(3)).tokens) == continuation([*PROMPT, 7], 3)
    drafter.propose(Budget(3))
    assert context.tokens[: len(PROMPT) + 1] == [*PROMPT, 7]


def test_a_chat_turn_decodes_only_what_is_new() -> None:
    context = ToyContext(TARGET)
    drafter = make_drafter(context)
    drafter.begin(PROMPT)
    draft = drafter.propose(Budget(3))
    drafter.accept(outcome(draft, 1, 4))
    context.decoded.clear()
    turn = [*PROMPT, draft.tokens[0], 4, 8, 8]
    drafter.begin(turn)
    assert context.decoded == [4, 8]
    context.decoded.clear()
    drafter.begin(turn[:3])
    assert context.decoded == []
    assert list(drafter.propose(Budget(2)).tokens) == continuation(turn[:3], 2)


def test_a_refused_cut_is_an_error_with_a_code() -> None:
    drafter = make_drafter(ToyContext(TARGET, rolls_back=False))
    drafter.begin(PROMPT)
    draft = drafter.propose(Budget(4))
    with pytest.raises(SpecdecError) as raised:
        drafter.accept(outcome(draft, 0, (draft.tokens[0] + 1) % N_VOCAB))
    assert raised.value.code == "arch.no_rollback"


@pytest.mark.parametrize(("n_ctx", "n_ctx_train"), [(10, 4096), (4096, 10)])
def test_a_full_context_ends_drafting_with_a_notice(n_ctx: int, n_ctx_train: int) -> None:
    context = ToyContext(TARGET, n_ctx=n_ctx, n_ctx_train=n_ctx_train)
    drafter = make_drafter(context)
    drafter.begin(PROMPT)
    assert len(drafter.propose(Budget(32))) == 6
    assert context.length == 10
    drafter.observe([1, 2, 3, 4])
    assert drafter.notice is None
    drafter.observe([5, 6])
    assert drafter.propose(Budget(4)) == Draft()
    assert drafter.notice is not None
    assert "10 tokens" in drafter.notice
    drafter.begin(PROMPT)
    assert drafter.notice is None
    assert len(drafter.propose(Budget(2))) == 2


def test_a_prompt_larger_than_its_context_is_no_error() -> None:
    context = ToyContext(TARGET, n_ctx=4)
    drafter = make_drafter(context)
    drafter.begin(PROMPT)
    assert drafter.propose(Budget(4)) == Draft()
    assert drafter.notice is not None


@pytest.mark.parametrize("rule", ["match", "reject"])
@pytest.mark.parametrize("temperature", [0.0, 5.0])
def test_ids_that_the_target_lacks_are_never_proposed(
    rule: Literal["match", "reject"], temperature: float
) -> None:
    settings = SamplingSettings(temperature=temperature, top_k=0, top_p=1.0, min_p=0.0)
    drafter = make_drafter(ToyContext(TARGET), settings=settings, rule=rule, n_vocab=4)
    drafter.begin([1, 2, 3])
    draft = drafter.propose(Budget(32))
    assert len(draft) == 32
    assert max(draft.tokens) < 4


def test_a_draft_with_the_smaller_vocabulary_is_padded() -> None:
    settings = SamplingSettings(temperature=1.0, repeat_penalty=1.2, logit_bias=((N_VOCAB + 3, 5.0),))
    drafter = make_drafter(ToyContext(TARGET), settings=settings, rule="reject", n_vocab=N_VOCAB + 8)
    drafter.begin(PROMPT)
    draft = drafter.propose(Budget(16))
    assert len(draft) == 16
    assert max(draft.tokens) < N_VOCAB


def play(
    drafter: ModelDrafter, settings: SamplingSettings, rule: Literal["match", "reject"], count: int
) -> int:
    """Rounds of four against the toy target; returns how many drafted tokens were accepted of each hundred."""
    sampler, random = Sampler(settings, N_VOCAB), RandomSource(settings.seed)
    text = list(PROMPT)
    drafter.begin(text)
    drafted = accepted = 0
    while len(text) < count:
        draft = drafter.propose(Budget(4, lambda _count, confidence: confidence > 0.0))
        rows = np.array([TARGET([*text, *draft.tokens[:i]]) for i in range(len(draft) + 1)])
        verdict = judge(rows, draft, sampler, text, random, rule)
        text.extend(verdict.tokens)
        drafter.accept(Outcome(draft, verdict.path, verdict.tokens))
        drafted += len(verdict.path) + (len(verdict.path) < len(draft))
        accepted += len(verdict.path)
    return round(100 * accepted / drafted)


@pytest.mark.parametrize("rule", ["match", "reject"])
def test_the_target_as_its_own_draft_is_always_right(rule: Literal["match", "reject"]) -> None:
    """Common random numbers: under *match* both draw the same token, at any temperature."""
    settings = SamplingSettings(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0, seed=3)
    drafter = make_drafter(ToyContext(TARGET), settings=settings, rule=rule)
    assert play(drafter, settings, rule, 200) == 100


def test_rejection_accepts_at_least_what_matching_does() -> None:
    settings = SamplingSettings(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, seed=3)
    blurred = noisy(TARGET, 0.3)
    match, reject = (
        play(make_drafter(ToyContext(blurred), settings=settings, rule=rule), settings, rule, 250)
        for rule in ("match", "reject")
    )
    assert 40 < match <= reject < 100


def test_sampled_drafts_carry_their_distributions_only_under_reject() -> None:
    settings = SamplingSettings(temperature=1.0)
    for rule, carries in (("match", False), ("reject", True)):
        drafter = make_drafter(ToyContext(TARGET), settings=settings, rule=rule)  # type: ignore[arg-type]
        drafter.begin(PROMPT)
        draft = drafter.propose(Budget(3))
        assert (draft.distributions is not None) == carries
        if draft.distributions is not None:
            chances = [d.probability(t) for d, t in zip(draft.distributions, draft.tokens, strict=True)]
            assert draft.confidences == pytest.approx(chances)


def test_confidence_is_asked_after_each_token_and_ends_the_draft() -> None:
    context = ToyContext(TARGET)
    drafter = make_drafter(context)
    drafter.begin(PROMPT)
    heard: list[tuple[int, float]] = []

    def keep_going(drafted: int, confidence: float) -> bool:
        heard.append((drafted, confidence))
        return drafted < 3

    draft = drafter.propose(Budget(8, keep_going))
    assert len(draft) == 3
    assert [count for count, _ in heard] == [1, 2, 3]
    assert draft.confidences == tuple(confidence for _, confidence in heard)
    row = TARGET(PROMPT)
    assert heard[0][1] == pytest.approx(float(np.exp(row.max()) / np.exp(row).sum()), rel=0.02)
    # The third token was not decoded: nobody asked what follows it.
    assert context.decoded == [*PROMPT, *draft.tokens[:2]]


def test_closing_closes_the_context() -> None:
    context = ToyContext(TARGET)
    make_drafter(context).close()
    assert context.closed


def test_softmax_probability_of_peaked_flat_and_small_rows() -> None:
    generator = np.random.default_rng(0)
    for size in (3, 5000, 49_152):
        for peak in (0.0, 5.0, 20.0):
            row = generator.normal(0.0, 2.0, size).astype(np.float32)
            row[2] = max(float(row.max()), peak)
            exact = float(np.exp(row[2]) / np.exp(row.astype(np.float64)).sum())
            assert softmax_probability(row, 2) == pytest.approx(exact, rel=0.3)
            if exact > 0.2:
                assert softmax_probability(row, 2) == pytest.approx(exact, rel=0.03)
    assert softmax_probability(np.array([0.0, 9.0], dtype=np.float32), 0) <= 1.0


def test_confidence_is_cheap() -> None:
    """The bar is 60 µs for 49 152 entries on a quiet machine; this one may be busy."""
    row = np.random.default_rng(0).normal(0.0, 2.5, 49_152).astype(np.float32)
    row[7] = 18.0
    assert min(timeit.repeat(lambda: softmax_probability(row, 7), number=20, repeat=10)) / 20 < 200e-6


def test_a_text_with_ids_that_the_draft_lacks_ends_drafting_with_a_notice() -> None:
    drafter = make_drafter(ToyContext(TARGET), n_vocab=N_VOCAB + 8)
    drafter.begin([1, 2, 3])
    assert len(drafter.propose(Budget(4))) == 4
    drafter.observe([N_VOCAB + 3])
    assert len(drafter.propose(Budget(4))) == 0
    assert drafter.notice is not None
    assert str(N_VOCAB) in drafter.notice
    drafter.begin([1, N_VOCAB + 3, 2])
    assert len(drafter.propose(Budget(4))) == 0
    drafter.begin([1, 2, 3])
    assert len(drafter.propose(Budget(4))) == 4
    assert drafter.notice is None
