"""Constrained sampling is the sampler over the logits of the allowed tokens, the others being -inf."""

from __future__ import annotations

import numpy as np
import pytest

from specdec_cli.errors import SpecdecError
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import SamplingSettings
from tests.support.toy_constraint import Alternating

N_VOCAB = 4000
KINDS = {
    "greedy": {"temperature": 0.0},
    "greedy, penalties": {"temperature": 0.0, "repeat_penalty": 1.5},
    "defaults": {"temperature": 0.8},
    "dense": {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0},
    "nucleus": {"temperature": 1.0, "top_k": 0, "min_p": 0.0},
    "min-p": {"temperature": 1.0, "top_k": 0, "top_p": 1.0},
    "bias": {"temperature": 0.8, "logit_bias": ((3, 9.0),)},
}


def every(step: int) -> frozenset[int]:
    return frozenset(range(0, N_VOCAB, step))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [1, 7, 1500])
def test_equals_sampling_from_the_masked_row(kind: str, step: int) -> None:
    sampler = Sampler(SamplingSettings(**KINDS[kind]), N_VOCAB)
    constraint = Alternating(every(step), frozenset())
    for seed in range(3):
        row = np.random.default_rng(seed).normal(0, 3, N_VOCAB).astype(np.float32)
        masked = np.where(np.arange(N_VOCAB) % step == 0, row, -np.inf).astype(np.float32)
        random, history = RandomSource(seed), [0, 1, 0]
        found = sampler.distribution(row, history, random, constraint)
        wanted = sampler.distribution(masked, history, random)
        assert np.allclose(
            found.probabilities_of(None, N_VOCAB),
            wanted.probabilities_of(None, N_VOCAB),
            rtol=1e-6,
            atol=1e-12,
        )
        token = sampler.choose(row, history, random, constraint)
        assert token == sampler.choose(masked, history, random)
        assert token % step == 0
    assert constraint.turn == 0


def test_few_tokens_are_asked_for_when_the_likely_ones_are_allowed() -> None:
    row = np.random.default_rng(0).normal(0, 3, N_VOCAB).astype(np.float32)
    for kind, most in (("greedy", 4), ("defaults", 82)):
        constraint = Alternating(every(1), frozenset())
        Sampler(SamplingSettings(**KINDS[kind]), N_VOCAB).choose(row, [], RandomSource(0), constraint)
        assert constraint.asked == [most]


@pytest.mark.parametrize("kind", KINDS)
def test_a_dead_end_is_one_clear_line(kind: str) -> None:
    row = np.zeros(N_VOCAB, dtype=np.float32)
    sampler = Sampler(SamplingSettings(**KINDS[kind]), N_VOCAB)
    with pytest.raises(SpecdecError, match="the grammar allows no token"):
        sampler.choose(row, [], RandomSource(0), Alternating(frozenset(), frozenset()))


@pytest.mark.parametrize("kind", KINDS)
def test_bad_logits_are_refused_under_a_constraint_too(kind: str) -> None:
    row = np.zeros(N_VOCAB, dtype=np.float32)
    row[77] = np.nan
    with pytest.raises(SpecdecError, match="not numbers"):
        Sampler(SamplingSettings(**KINDS[kind]), N_VOCAB).choose(
            row, [], RandomSource(0), Alternating(every(2), frozenset())
        )
