"""Top-p and min-p over the allowed tokens, found without asking a grammar about all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import SamplingSettings
from tests.support.toy_constraint import Alternating

N_VOCAB = 3000


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 1000),
    scale=st.sampled_from([0.01, 0.3, 1.0, 3.0, 8.0]),
    share=st.sampled_from([0.001, 0.02, 0.5, 1.0]),
    top_p=st.sampled_from([0.05, 0.5, 0.95, 0.999, 1.0]),
    min_p=st.sampled_from([0.0, 0.01, 0.2, 1.0]),
    xtc=st.sampled_from([0.0, 1.0]),
)
def test_equals_the_chain_over_the_masked_row(
    seed: int, scale: float, share: float, top_p: float, min_p: float, xtc: float
) -> None:
    generator = np.random.default_rng(seed)
    row = generator.normal(0, scale, N_VOCAB).astype(np.float32)
    row[generator.integers(N_VOCAB)] = -np.inf
    allowed = np.flatnonzero(generator.random(N_VOCAB) < share)
    allowed = allowed[row[allowed] > -np.inf]
    if not len(allowed):
        allowed = np.array([int(row.argmax())])
    masked = np.full(N_VOCAB, -np.inf, dtype=np.float32)
    masked[allowed] = row[allowed]
    chosen = SamplingSettings(temperature=0.9, top_k=0, top_p=top_p, min_p=min_p, xtc_probability=xtc)
    sampler, random = Sampler(chosen, N_VOCAB), RandomSource(seed)
    constraint = Alternating(frozenset(allowed.tolist()), frozenset())
    found = sampler.distribution(row, [1, 2], random, constraint)
    wanted = sampler.distribution(masked, [1, 2], random)
    ids = np.arange(N_VOCAB)
    difference = np.abs(found.probabilities_of(ids, N_VOCAB) - wanted.probabilities_of(ids, N_VOCAB))
    assert difference.max() < 1e-6
    assert sampler.choose(row, [1, 2], random, constraint) == sampler.choose(masked, [1, 2], random)


@pytest.mark.parametrize("kept", [{"min_p": 0.05}, {"min_p": 0.0, "top_p": 0.9}])
def test_a_peaked_row_needs_one_handful(kept: dict[str, float]) -> None:
    row = np.random.default_rng(0).normal(0, 1, N_VOCAB).astype(np.float32)
    row[:4] += 20
    constraint = Alternating(frozenset(range(N_VOCAB)), frozenset())
    sampler = Sampler(SamplingSettings(temperature=1.0, top_k=0, **kept), N_VOCAB)
    assert sampler.choose(row, [], RandomSource(1), constraint) in range(4)
    assert sum(constraint.asked) < 100
