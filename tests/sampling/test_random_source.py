"""Addressing is exact. Quality is judged by statistics at fixed seeds, each with a false alarm rate below 1e-6."""

from __future__ import annotations

import numpy as np
import pytest

from specdec_cli.sampling.random_source import ACCEPT, DRAFT, RESIDUAL, TARGET, XTC, RandomSource

MANY = 20_000


def test_a_number_belongs_to_its_address() -> None:
    first, second = RandomSource(7), RandomSource(7)
    forwards = [first.uniform(position) for position in range(50)]
    backwards = [second.uniform(position) for position in reversed(range(50))]
    assert forwards == backwards[::-1]


def test_every_part_of_the_address_matters() -> None:
    addresses = [
        (seed, position, stream, index)
        for seed in (0, 1, -1, 2**40)
        for position in (0, 1, 255, 256, 100_000)
        for stream in (TARGET, ACCEPT, DRAFT, RESIDUAL, XTC)
        for index in (0, 1, 5)
    ]
    numbers = {RandomSource(seed).uniform(*rest) for seed, *rest in addresses}
    assert len(numbers) == len(addresses)


def test_seeds_count_by_their_low_64_bits() -> None:
    assert RandomSource(5).uniform(3) == RandomSource(5 + 2**64).uniform(3)


@pytest.mark.parametrize("along", ["position", "seed", "stream", "index"])
def test_uniform_along_every_axis(along: str) -> None:
    source = RandomSource(3)
    draw = {
        "position": lambda i: source.uniform(i),
        "seed": lambda i: RandomSource(i).uniform(11),
        "stream": lambda i: source.uniform(11, i),
        "index": lambda i: source.uniform(11, DRAFT, i),
    }[along]
    numbers = np.array([draw(i) for i in range(MANY)])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    # Kolmogorov-Smirnov: P(distance > 2.7 / sqrt(n)) = 2 exp(-2 · 2.7²) < 1e-6.
    steps = np.arange(1, MANY + 1) / MANY
    assert np.abs(np.sort(numbers) - steps).max() < 2.7 / MANY**0.5 + 1 / MANY
    # Neighbours are uncorrelated: 5 standard deviations.
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 5 / MANY**0.5


def test_exponentials_belong_to_the_token() -> None:
    source = RandomSource(2)
    all_tokens = source.exponentials(9, np.arange(1000))
    some = np.array([999, 3, 500])
    assert source.exponentials(9, some).tolist() == all_tokens[some].tolist()
    assert source.exponentials(10, some).tolist() != all_tokens[some].tolist()
    assert source.exponentials(9, some, DRAFT).tolist() != all_tokens[some].tolist()


def test_exponentials_are_exponential() -> None:
    numbers = RandomSource(4).exponentials(1, np.arange(-1, 200_000))
    assert numbers.min() > 0
    assert np.isfinite(numbers).all()
    survival = 1 - np.exp(-np.sort(numbers))
    assert np.abs(survival - np.arange(1, len(numbers) + 1) / len(numbers)).max() < 2.7 / len(numbers) ** 0.5


def test_tokens_of_neighbouring_positions_are_unrelated() -> None:
    source, tokens = RandomSource(4), np.arange(MANY)
    here, there = source.exponentials(1, tokens), source.exponentials(2, tokens)
    assert abs(np.corrcoef(here, there)[0, 1]) < 5 / MANY**0.5
