"""The same logits and settings give the same candidates and probabilities as llama.cpp's own chain."""

from __future__ import annotations

import numpy as np
import pytest

from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import SamplingSettings
from tests.support.native_chain import native_distribution

# Everything off, so that each case turns on what it names.
OFF = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
UNDERFLOW = 1e-30
"""Less than this is zero in float32 arithmetic that llama.cpp and numpy may round differently."""
CASES = {
    "nothing": {},
    "temperature low": {"temperature": 0.3},
    "temperature high": {"temperature": 1.7},
    "greedy": {"temperature": 0.0},
    "top-k 1": {"top_k": 1},
    "top-k 40": {"top_k": 40},
    "top-k 1000": {"top_k": 1000},
    "top-k off by -1": {"top_k": -1},
    "top-p": {"top_p": 0.9},
    "top-p tiny": {"top_p": 1e-4},
    "top-p near one": {"top_p": 0.999},
    "min-p": {"min_p": 0.05},
    "min-p 1": {"min_p": 1.0},
    "typical": {"typical_p": 0.7},
    "typical, top-k": {"typical_p": 0.5, "top_k": 50},
    "typical, top-p, min-p": {"typical_p": 0.9, "top_p": 0.8, "min_p": 0.02},
    "typical, greedy": {"typical_p": 0.3, "temperature": 0.0},
    "defaults": {"top_k": 40, "top_p": 0.95, "min_p": 0.05, "temperature": 0.8},
    "repeat": {"repeat_penalty": 1.3},
    "repeat, below one": {"repeat_penalty": 0.7},
    "frequency": {"frequency_penalty": 0.7},
    "presence": {"presence_penalty": 1.5},
    "all penalties, short look": {
        "repeat_penalty": 1.1,
        "frequency_penalty": 0.4,
        "presence_penalty": -0.3,
        "penalty_last_n": 7,
        "top_k": 30,
    },
    "penalties, whole text": {"repeat_penalty": 1.2, "penalty_last_n": -1},
    "penalties, greedy": {"repeat_penalty": 1.5, "temperature": 0.0},
    "bias": {"logit_bias": ((3, 2.5), (0, -1.0), (7, float("-inf")))},
    "bias twice": {"logit_bias": ((3, 2.5), (3, 1.0)), "top_k": 20},
    "dry": {"dry_multiplier": 0.8},
    "dry, short look": {"dry_multiplier": 0.8, "dry_penalty_last_n": 11},
    "dry, any length": {"dry_multiplier": 0.8, "dry_allowed_length": 0, "dry_base": 1.1},
    "dry, length 1, base 1": {"dry_multiplier": 2.0, "dry_allowed_length": 1, "dry_base": 1.0},
    "dry, penalties, top-k": {"dry_multiplier": 1.3, "repeat_penalty": 1.1, "top_k": 25, "min_p": 0.01},
    "xtc": {"xtc_probability": 1.0, "xtc_threshold": 0.05},
    "xtc, top-k": {"xtc_probability": 1.0, "xtc_threshold": 0.1, "top_k": 40},
    "xtc, greedy": {"xtc_probability": 1.0, "xtc_threshold": 0.08, "temperature": 0.0},
    "xtc, threshold too high": {"xtc_probability": 1.0, "xtc_threshold": 0.6},
    "everything": {
        "temperature": 0.9,
        "top_k": 60,
        "typical_p": 0.95,
        "top_p": 0.9,
        "min_p": 0.03,
        "repeat_penalty": 1.15,
        "frequency_penalty": 0.1,
        "presence_penalty": 0.2,
        "dry_multiplier": 0.5,
        "xtc_probability": 1.0,
        "xtc_threshold": 0.04,
        "logit_bias": ((1, 1.0),),
    },
}


def looping_text(rng: np.random.Generator, length: int, n_vocab: int) -> list[int]:
    """Text that repeats itself with small changes, so that penalties and DRY have something to see."""
    loop = rng.integers(0, min(n_vocab, 9), 1 + int(rng.integers(0, 6))).tolist()
    text = (loop * length)[:length]
    for place in rng.integers(0, length, length // 10):
        text[place] = int(rng.integers(0, n_vocab))
    return text


@pytest.mark.parametrize("n_vocab", [10, 300, 5000, 40_000])
@pytest.mark.parametrize("case", CASES)
def test_same_candidates_and_probabilities(case: str, n_vocab: int) -> None:
    settings = SamplingSettings(**(OFF | CASES[case]))
    sampler = Sampler(settings, n_vocab)
    for seed in range(5 if n_vocab < 1000 else 2):
        rng = np.random.default_rng((seed, n_vocab))
        row = rng.normal(0.0, (1.0, 2.5)[seed % 2], n_vocab).astype(np.float32)
        row[:3] += np.float32((0.0, 6.0)[seed % 2])
        history = looping_text(rng, 40 + 60 * seed, n_vocab)
        expected = native_distribution(settings, row, history)
        found = sampler.distribution(row, history, RandomSource(0))
        tokens = range(n_vocab) if found.tokens is None else found.tokens.tolist()
        ours = {t: p for t, p in zip(tokens, found.probabilities.tolist(), strict=True) if p > UNDERFLOW}
        expected = {t: p for t, p in expected.items() if p > UNDERFLOW}
        differ = set(ours) ^ set(expected)
        assert sum(ours.get(t, 0) + expected.get(t, 0) for t in differ) <= allowed_at_the_edge(len(ours))
        assert max(abs(ours[token] - expected[token]) for token in ours if token in expected) < 1e-5


def allowed_at_the_edge(count: int) -> float:
    """The mass of the tokens over which the two may disagree: none, until a set is cut out of thousands.

    llama.cpp adds thousands of float32 numbers one by one to find where a sum reaches top-p, or an entropy;
    its rounding, several 1e-6, then decides over the last few tokens.
    """
    return 0.0 if count <= 256 else 1e-4


def test_text_without_end_repeats_at_the_largest_exponent() -> None:
    settings = SamplingSettings(**(OFF | {"dry_multiplier": 0.01, "dry_base": 1.75}))
    row = np.zeros(20, dtype=np.float32)
    history = [5] * 1000
    expected = native_distribution(settings, row, history)
    found = Sampler(settings, 20).distribution(row, history)
    assert found.probability(5) == expected.get(5, 0.0) == 0.0
    assert found.probability(6) == pytest.approx(expected[6], abs=1e-7)


def test_penalties_and_dry_on_an_empty_text() -> None:
    settings = SamplingSettings(**(OFF | {"dry_multiplier": 1.0, "repeat_penalty": 1.5}))
    row = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    expected = native_distribution(settings, row, [])
    found = Sampler(settings, 3).distribution(row, [])
    assert [found.probability(token) for token in range(3)] == pytest.approx(
        [expected[token] for token in range(3)], abs=1e-6
    )
