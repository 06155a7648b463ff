"""A context that decodes nothing twice answers as the real one, and costs what is new."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from specdec_cli.proof.remembering import KEPT_LOGITS, RememberingContext
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import SamplingSettings
from tests.support.toy import ToyContext
from tests.support.trials import WORDS, toy_subject


def test_rows_are_those_of_the_real_context_after_any_cut() -> None:
    real, remembering = ToyContext(WORDS), RememberingContext(ToyContext(WORDS))
    random = np.random.default_rng(1)
    for _ in range(200):
        length = int(random.integers(0, min(real.length, 6) + 1))
        tokens = random.integers(1, 4, int(random.integers(1, 4))).tolist()
        rows = int(random.integers(0, len(tokens) + 1))
        for context in (real, remembering):
            assert context.cut(length)
        assert np.array_equal(real.decode(tokens, rows), remembering.decode(tokens, rows))
        assert real.length == remembering.length


def test_what_was_decoded_once_is_not_decoded_again() -> None:
    real = ToyContext(WORDS)
    remembering = RememberingContext(real)
    remembering.decode([1, 2, 3], 0)
    assert real.decoded == []  # nobody asked for a row yet
    for _ in range(3):
        remembering.decode([4], 1)
        remembering.decode([5, 6], 2)
        remembering.cut(3)
    assert real.decoded == [1, 2, 3, 4, 5, 6]
    remembering.decode([4], 1)
    remembering.decode([7], 1)
    assert real.decoded[6:] == [7]  # the real cache still holds 1, 2, 3, 4
    assert real.tokens == [1, 2, 3, 4, 7]


def test_a_memory_that_cannot_be_cut_is_filled_again() -> None:
    real = ToyContext(WORDS, rolls_back=False)
    remembering = RememberingContext(real)
    first = remembering.decode([1, 2, 3], 1)
    remembering.cut(1)
    remembering.decode([9], 1)
    assert real.tokens == [1, 9]
    remembering.cut(0)
    assert np.array_equal(remembering.decode([1, 2, 3], 1), first)


def test_what_is_forgotten_of_a_row_is_out_of_the_samplers_reach() -> None:
    row = np.random.default_rng(2).normal(0, 3, 50_000).astype(np.float32)
    context = RememberingContext(ToyContext(lambda _tokens: row, n_vocab=len(row)))
    (remembered,) = context.decode([1], 1)
    assert np.isfinite(remembered).sum() == KEPT_LOGITS
    sampler = Sampler(SamplingSettings(temperature=1.0), len(row))
    whole, kept = (sampler.distribution(each, [1]) for each in (row, remembered))
    assert np.array_equal(whole.tokens, kept.tokens)
    assert np.array_equal(whole.probabilities, kept.probabilities)
    for seed in range(50):
        assert sampler.choose(row, [1], RandomSource(seed)) == sampler.choose(
            remembered, [1], RandomSource(seed)
        )


def test_a_subject_answers_the_same_from_memory(tmp_path: Path) -> None:
    subject = toy_subject(tmp_path)
    engine, prompt = subject.engine, [3, 1, 4]
    settings = [SamplingSettings(temperature=1.0, seed=seed) for seed in range(100)]

    def answers() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        result = []
        for sampling in settings:
            engine.use_sampling(sampling)
            result.append((subject.plain(prompt, 3).tokens, subject.drafted(prompt, 3).tokens))
        return result

    expected = answers()
    target, draft = engine.session.target, engine.parts.draft_context
    assert isinstance(target, ToyContext)
    before = len(target.decoded)
    with subject.remembering():
        assert answers() == expected
    assert engine.session.target is target
    assert engine.parts.draft_context is draft
    assert len(target.decoded) - before < before / 2
    assert answers() == expected
    engine.close()
