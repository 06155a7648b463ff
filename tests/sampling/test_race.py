"""The race draws with the right frequencies, and two similar distributions mostly draw alike."""

from __future__ import annotations

import numpy as np
import pytest

from specdec_cli.sampling.distribution import Distribution
from specdec_cli.sampling.race import race
from specdec_cli.sampling.random_source import RandomSource


def chi_square_is_plausible(counts: np.ndarray, probabilities: np.ndarray) -> bool:
    """Wilson-Hilferty at five standard deviations: a false alarm in 3.5 million."""
    expected = counts.sum() * probabilities
    degrees = len(counts) - 1
    statistic = ((counts - expected) ** 2 / expected).sum()
    return bool((statistic / degrees) ** (1 / 3) < 1 - 2 / (9 * degrees) + 5 * (2 / (9 * degrees)) ** 0.5)


@pytest.mark.parametrize("dense", [False, True])
def test_frequencies_of_a_few_tokens(dense: bool) -> None:
    probabilities = np.array([0.02, 0.4, 0.08, 0.35, 0.15])
    tokens = None if dense else np.array([10, 4, 77, 0, 31])
    distribution = Distribution(tokens, probabilities)
    source = RandomSource(1)
    drawn = [race(distribution, source, position) for position in range(8000)]
    counts = np.array([drawn.count(distribution.token_at(index)) for index in range(5)])
    assert counts.sum() == 8000
    assert chi_square_is_plausible(counts, probabilities)


@pytest.mark.parametrize("dense", [False, True])
def test_frequencies_when_the_tail_runs_as_one(dense: bool) -> None:
    rng = np.random.default_rng(0)
    size = 5000
    weights = rng.exponential(size=size)
    weights[rng.permutation(size)[:20]] += 100
    probabilities = weights / weights.sum()
    tokens = None if dense else rng.permutation(size)
    distribution = Distribution(tokens, probabilities)
    source = RandomSource(2)
    drawn = np.array([race(distribution, source, position) for position in range(2500)])
    order = np.argsort(-probabilities)
    # The 20 likely ones, the rest of the head, and the tail in ten parts.
    parts = [*np.split(order[:20], 20), order[20:256], *np.array_split(order[256:], 10)]
    ids = np.arange(size) if tokens is None else tokens
    counts = np.array([np.isin(drawn, ids[part]).sum() for part in parts])
    assert counts.sum() == 2500
    assert chi_square_is_plausible(counts, np.array([probabilities[part].sum() for part in parts]))


@pytest.mark.parametrize("size", [5, 6000])
def test_never_an_impossible_token(size: int) -> None:
    probabilities = np.zeros(size)
    probabilities[[1, 3]] = 0.5
    distribution = Distribution(None, probabilities)
    assert {race(distribution, RandomSource(0), position) for position in range(200)} == {1, 3}


@pytest.mark.parametrize("size", [40, 6000])
def test_similar_distributions_draw_alike(size: int) -> None:
    rng = np.random.default_rng(size)
    # Peaked as a language model is: the tokens beyond the head of a large vocabulary have little mass.
    target = 1 / np.arange(1, size + 1) ** 2
    draft = target * np.exp(rng.normal(0, 0.5, size))
    target, draft = target / target.sum(), draft / draft.sum()
    order = rng.permutation(size)
    first, second = Distribution(None, target), Distribution(order, draft[order])
    source = RandomSource(5)
    rounds = 1000
    alike = sum(race(first, source, i) == race(second, source, i) for i in range(rounds)) / rounds
    apart = 0.5 * np.abs(target - draft).sum()
    # Five standard deviations below the bound.
    assert alike >= (1 - apart) / (1 + apart) - 5 * 0.5 / rounds**0.5
