"""The round, end to end, on a toy model: lossless for every drafter, and consistent wherever it stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from specdec_cli.draft.model import ModelDrafter
from specdec_cli.draft.ngram import NgramDrafter
from specdec_cli.draft.plain import PlainDrafter
from specdec_cli.engine.generation import Generation
from specdec_cli.engine.session import Session
from specdec_cli.errors import EngineFault, SpecdecError
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import GenerationSettings, SamplingSettings
from tests.support.toy import (
    N_VOCAB,
    OracleDrafter,
    RaisingDrafter,
    ToyContext,
    ToyText,
    WrongDrafter,
    noisy,
    table_logits,
)

PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]
LOGITS = table_logits(7, end_bias=-9.0)


def generate(
    drafter: Any,
    *,
    draft_max: int = 4,
    max_tokens: int = 60,
    sampling: SamplingSettings | None = None,
    target: ToyContext | None = None,
    rule: str = "match",
    stop: tuple[str, ...] = (),
    prompt: Sequence[int] = PROMPT,
    interrupted: Callable[[], bool] = lambda: False,
) -> Generation:
    sampling = sampling or SamplingSettings()
    session = Session(
        target or ToyContext(LOGITS),
        drafter,
        Sampler(sampling, N_VOCAB),
        RandomSource(sampling.seed),
        rule,  # type: ignore[arg-type]
    )
    generation = Generation(session, ToyText(), GenerationSettings(max_tokens, stop), draft_max, interrupted)
    generation.prefill(prompt)
    for event in generation:
        session.check()
        assert len(event.outcome.draft) <= draft_max
    return generation


def model_drafter(sampling: SamplingSettings, rule: str = "match", **options: Any) -> ModelDrafter:
    context = ToyContext(noisy(LOGITS), max_rows=1, **options)
    return ModelDrafter(
        context,
        sampler=Sampler(sampling, N_VOCAB),
        random=RandomSource(sampling.seed),
        rule=rule,  # type: ignore[arg-type]
        target_n_vocab=N_VOCAB,
    )


@pytest.mark.parametrize("draft_max", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.5])
@pytest.mark.parametrize("kind", ["ngram", "model", "oracle", "wrong"])
def test_match_gives_the_tokens_of_plain_decoding(kind: str, draft_max: int, temperature: float) -> None:
    sampling = SamplingSettings(temperature=temperature, top_k=0, top_p=1.0, min_p=0.0, seed=11)
    plain = generate(PlainDrafter(), sampling=sampling)
    drafters = {
        "ngram": NgramDrafter,
        "model": lambda: model_drafter(sampling),
        "oracle": lambda: OracleDrafter(plain.token_ids),
        "wrong": lambda: WrongDrafter(plain.token_ids),
    }
    drafted = generate(drafters[kind](), draft_max=draft_max, sampling=sampling)
    assert drafted.token_ids == plain.token_ids
    assert drafted.answer == plain.answer
    assert drafted.finish_reason == plain.finish_reason


def test_the_oracle_is_accepted_whole_and_the_liar_never() -> None:
    plain = generate(PlainDrafter())
    assert plain.statistics.mean_tokens_per_round == 1
    oracle = generate(OracleDrafter(plain.token_ids)).statistics
    assert oracle.accepted == oracle.drafted > 0
    assert oracle.rounds == 12  # 60 tokens, five a round
    assert oracle.accepted_by_position == (1.0, 1.0, 1.0, 1.0)
    liar = generate(WrongDrafter(plain.token_ids)).statistics
    assert liar.accepted == 0
    assert liar.drafted > 0


def test_repeat_penalty_sees_inside_a_draft_what_plain_decoding_sees() -> None:
    sampling = SamplingSettings(repeat_penalty=1.8, penalty_last_n=16)
    plain = generate(PlainDrafter(), sampling=sampling)
    assert plain.token_ids != generate(PlainDrafter()).token_ids  # the penalty matters here
    for draft_max in (1, 4, 16):
        assert generate(model_drafter(sampling), draft_max=draft_max, sampling=sampling).token_ids == (
            plain.token_ids
        )


def test_a_drafter_that_raises_leaves_the_session_consistent() -> None:
    plain = generate(PlainDrafter())
    target = ToyContext(LOGITS)
    drafter = RaisingDrafter(plain.token_ids)
    session = Session(target, drafter, Sampler(SamplingSettings(), N_VOCAB), RandomSource(0), "match")
    generation = Generation(session, ToyText(), GenerationSettings(20), 4)
    generation.prefill(PROMPT)
    with pytest.raises(RuntimeError, match="the drafter broke"):
        list(generation)
    session.check()
    assert generation.token_ids == plain.token_ids[: len(generation.token_ids)] != []


def test_a_consumer_that_stops_in_the_middle_leaves_the_session_consistent() -> None:
    session = Session(
        ToyContext(LOGITS), NgramDrafter(), Sampler(SamplingSettings(), N_VOCAB), RandomSource(0), "match"
    )
    generation = Generation(session, ToyText(), GenerationSettings(40), 4)
    generation.prefill(PROMPT)
    for _event in generation:
        break
    session.check()
    assert session.committed == PROMPT + generation.token_ids


def test_a_model_that_fails_while_judging_leaves_nothing_undecided_in_the_cache() -> None:
    broken = ToyContext(lambda tokens: LOGITS(tokens) * (float("nan") if len(tokens) > 20 else 1))
    session = Session(
        broken,
        model_drafter(SamplingSettings()),
        Sampler(SamplingSettings(), N_VOCAB),
        RandomSource(0),
        "match",
    )
    generation = Generation(session, ToyText(), GenerationSettings(40), 4)
    generation.prefill(PROMPT)
    with pytest.raises(SpecdecError):
        list(generation)
    session.check()


def test_an_end_token_inside_an_accepted_run_ends_the_answer_there() -> None:
    ending = table_logits(7, end_bias=2.5)
    plain = generate(PlainDrafter(), target=ToyContext(ending))
    assert plain.finish_reason == "stop"
    assert len(plain.token_ids) < 60
    target = ToyContext(ending)
    answer = [*plain.token_ids, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    drafted = generate(OracleDrafter(answer), draft_max=16, target=target)
    assert drafted.token_ids == plain.token_ids
    assert drafted.finish_reason == "stop"
    assert target.tokens == PROMPT + plain.token_ids  # nothing after the end is left in the cache


@pytest.mark.parametrize("draft_max", [1, 3, 8])
def test_the_answer_is_as_long_as_asked_and_no_longer(draft_max: int) -> None:
    plain = generate(PlainDrafter(), max_tokens=7)
    drafted = generate(OracleDrafter(plain.token_ids * 5), draft_max=draft_max, max_tokens=7)
    assert drafted.token_ids == plain.token_ids
    assert len(drafted.token_ids) == 7
    assert drafted.finish_reason == "length"


@pytest.mark.parametrize("draft_max", [1, 3, 8])
def test_a_full_context_ends_the_answer_at_the_same_token_for_every_drafter(draft_max: int) -> None:
    plain = generate(PlainDrafter(), target=ToyContext(LOGITS, n_ctx=24))
    drafted = generate(
        OracleDrafter(generate(PlainDrafter()).token_ids),
        draft_max=draft_max,
        target=ToyContext(LOGITS, n_ctx=24),
    )
    assert plain.finish_reason == drafted.finish_reason == "context"
    assert plain.token_ids == drafted.token_ids
    assert len(PROMPT) + len(plain.token_ids) == 24


def test_a_prompt_without_room_names_both_numbers() -> None:
    with pytest.raises(SpecdecError, match=r"8 tokens .* context of 8"):
        generate(PlainDrafter(), target=ToyContext(LOGITS, n_ctx=8))


def test_an_interruption_stops_within_one_round() -> None:
    calls = iter([False] * 6 + [True] * 100)
    generation = generate(PlainDrafter(), interrupted=lambda: next(calls))
    assert generation.finish_reason == "interrupt"
    assert 0 < len(generation.token_ids) < 7


def test_an_interruption_while_reading_the_prompt_gives_an_empty_answer() -> None:
    generation = generate(PlainDrafter(), interrupted=lambda: True)
    assert generation.finish_reason == "interrupt"
    assert generation.token_ids == []


def test_a_target_that_cannot_drop_tokens_is_noticed_in_the_round() -> None:
    target = ToyContext(LOGITS, rolls_back=False)
    with pytest.raises(SpecdecError, match="cannot drop rejected tokens"):
        generate(WrongDrafter(generate(PlainDrafter()).token_ids), target=target)


def test_a_drafter_that_exceeds_its_budget_is_a_bug_of_ours() -> None:
    class Greedy(OracleDrafter):
        def propose(self, budget: Any) -> Any:
            return super().propose(type(budget)(budget.max_tokens + 1))

    with pytest.raises(EngineFault, match="proposed 5 tokens, 4 allowed"):
        generate(Greedy(generate(PlainDrafter()).token_ids))


def test_the_next_turn_decodes_only_what_is_new() -> None:
    target = ToyContext(LOGITS)
    session = Session(
        target,
        model_drafter(SamplingSettings()),
        Sampler(SamplingSettings(), N_VOCAB),
        RandomSource(0),
        "match",
    )
    first = Generation(session, ToyText(), GenerationSettings(10), 4)
    first.prefill(PROMPT)
    list(first)
    turn = [*session.committed, 8, 8, 8]
    already = len(target.decoded)
    second = Generation(session, ToyText(), GenerationSettings(10), 4)
    second.prefill(turn)
    assert target.decoded[already:] == turn[-4:-1]
    list(second)
    plain = generate(PlainDrafter(), prompt=turn, max_tokens=10)
    assert second.token_ids == plain.token_ids


def test_an_edited_turn_rolls_back_to_the_common_prefix() -> None:
    session = Session(
        ToyContext(LOGITS), NgramDrafter(), Sampler(SamplingSettings(), N_VOCAB), RandomSource(0), "match"
    )
    first = Generation(session, ToyText(), GenerationSettings(10), 4)
    first.prefill(PROMPT)
    list(first)
    edited = [*PROMPT[:5], 7, 7]
    again = Generation(session, ToyText(), GenerationSettings(12), 4)
    again.prefill(edited)
    list(again)
    assert again.token_ids == generate(PlainDrafter(), prompt=edited, max_tokens=12).token_ids
