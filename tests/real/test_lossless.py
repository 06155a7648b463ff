"""The promise, on the real model: greedy output with any drafter is plain decoding's."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from specdec_cli.engine.generation import Generation
from specdec_cli.llama.model import LlamaModel
from specdec_cli.settings import GenerationSettings, SamplingSettings
from tests.support.real import PROMPTS, answer, assert_same_or_tie, chat_tokens, session, settings

pytestmark = pytest.mark.real
LENGTHS = (1, 2, 4, 8, 16)
TOKENS = 24


@pytest.fixture(scope="module")
def plain_answers(real_models: Mapping[str, LlamaModel]) -> list[list[int]]:
    target = real_models["F16"]
    plain = session(target)
    answers = [answer(plain, target, chat_tokens(target, prompt), TOKENS).token_ids for prompt in PROMPTS]
    plain.close()
    return answers


@pytest.mark.parametrize("draft_max", LENGTHS)
@pytest.mark.parametrize("drafter", ["model", "ngram"])
def test_greedy_output_equals_plain_decoding(
    real_models: Mapping[str, LlamaModel], plain_answers: list[list[int]], drafter: str, draft_max: int
) -> None:
    target = real_models["F16"]
    draft = real_models["Q4_0"] if drafter == "model" else None
    drafted = session(target, drafter, draft, draft_max=draft_max)
    try:
        for prompt, plain in zip(PROMPTS, plain_answers, strict=True):
            tokens = chat_tokens(target, prompt)
            generation = answer(drafted, target, tokens, TOKENS, draft_max)
            assert_same_or_tie(target, tokens, plain, generation.token_ids)
    finally:
        drafted.close()


def test_the_target_drafting_for_itself_is_accepted(real_models: Mapping[str, LlamaModel]) -> None:
    target = real_models["F16"]
    drafted = session(target, "model", target, draft_max=4)
    statistics = answer(drafted, target, chat_tokens(target, PROMPTS[1]), 100).statistics
    drafted.close()
    assert statistics.drafted > 60
    assert statistics.acceptance_rate >= 0.98


def test_the_same_seed_gives_the_same_tokens_under_match(real_models: Mapping[str, LlamaModel]) -> None:
    target, sampling = real_models["F16"], SamplingSettings(temperature=0.8, seed=5)
    prompt = chat_tokens(target, PROMPTS[8])
    plain = session(target, sampling=sampling)
    expected = answer(plain, target, prompt, 48).token_ids
    plain.close()
    for drafter, draft in (("model", real_models["Q4_0"]), ("ngram", None)):
        drafted = session(target, drafter, draft, sampling=sampling)
        assert answer(drafted, target, prompt, 48).token_ids == expected
        drafted.close()


def test_prompt_and_output_longer_than_a_batch(real_models: Mapping[str, LlamaModel]) -> None:
    target = real_models["Q4_1"]
    prompt = chat_tokens(target, "Repeat: " + "one two three four five six seven eight nine ten " * 12)
    assert len(prompt) > 100
    results = []
    for n_batch in (32, 512):
        drafted = session(target, "ngram", context=settings(n_batch=n_batch))
        results.append(answer(drafted, target, prompt, 80).token_ids)
        drafted.close()
    assert_same_or_tie(target, prompt, results[1], results[0])
    assert len(results[0]) > 32


def test_acceptance_does_not_decay_over_a_long_run(real_models: Mapping[str, LlamaModel]) -> None:
    target = real_models["Q4_1"]
    end_tokens = [token for token in range(64) if target.text.is_end_of_generation(token)]
    sampling = SamplingSettings(repeat_penalty=1.1, logit_bias=tuple((token, -100.0) for token in end_tokens))
    drafted = session(target, "model", real_models["Q4_0"], sampling=sampling, context=settings(n_ctx=2048))
    generation = Generation(drafted, target.text, GenerationSettings(1500), 4)
    generation.prefill(chat_tokens(target, "Write a very long story about the sea."))
    rounds = [(len(event.outcome.draft), len(event.outcome.path)) for event in generation]
    drafted.close()
    assert len(generation.token_ids) == 1500
    third = len(rounds) // 3
    first, last = (
        sum(accepted for _, accepted in part) / sum(size for size, _ in part)
        for part in (rounds[:third], rounds[-third:])
    )
    assert last > first - 0.12, f"acceptance fell from {first:.2f} to {last:.2f}"
