from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_cli.sampling.distribution import Distribution

ALMOST_ONE = 1 - 2**-53


def example(size: int, seed: int = 0, zeros: float = 0.3) -> Distribution:
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=size) ** 3
    weights[rng.random(size) < zeros] = 0
    weights[size // 2] = 1
    tokens = rng.permutation(5 * size)[:size]
    return Distribution(tokens, weights / weights.sum())


@pytest.mark.parametrize("size", [1, 7, 512, 513, 5000])
@pytest.mark.parametrize("dense", [False, True])
def test_each_token_is_drawn_over_an_interval_as_long_as_its_probability(size: int, dense: bool) -> None:
    distribution = example(size)
    if dense:
        distribution = Distribution(None, distribution.probabilities)
    ends = np.cumsum(distribution.probabilities)
    starts = np.concatenate(([0.0], ends[:-1]))
    for index in range(size):
        if distribution.probabilities[index] > 1e-9:
            inset = 0.01 * distribution.probabilities[index]
            assert distribution.draw(starts[index] + inset) == distribution.token_at(index)
            assert distribution.draw(ends[index] - inset) == distribution.token_at(index)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 0.0, 1e-300, 1e-9, 0.1, 1 / 3, 1.0]), min_size=1, max_size=8).filter(any),
    st.one_of(st.sampled_from([0.0, 2**-53, 0.5, ALMOST_ONE]), st.floats(0, ALMOST_ONE)),
    st.integers(1, 200),
)
def test_a_draw_has_a_positive_probability(weights: list[float], uniform: float, repeats: int) -> None:
    values = np.tile(np.array(weights), repeats)
    distribution = Distribution(None, values / values.sum())
    assert distribution.probability(distribution.draw(uniform)) > 0


def test_a_sum_short_of_one_is_never_left_behind() -> None:
    short = Distribution(np.array([4, 9, 2]), np.array([0.3, 0.3, 0.0]))
    assert short.draw(ALMOST_ONE) == 9


def test_point_mass() -> None:
    only = Distribution.point_mass(17)
    assert [only.draw(uniform) for uniform in (0.0, 0.5, ALMOST_ONE)] == [17, 17, 17]
    assert (only.probability(17), only.probability(16), len(only)) == (1.0, 0.0, 1)


@pytest.mark.parametrize("mine", ["dense", "sparse"])
@pytest.mark.parametrize("asked", ["dense", "sparse"])
@pytest.mark.parametrize("count", [3, 40, 400])
def test_probabilities_of_agrees_with_probability(mine: str, asked: str, count: int) -> None:
    distribution = example(60)
    if mine == "dense":
        distribution = Distribution(None, distribution.probabilities)
    tokens = np.random.default_rng(1).permutation(500)[:count] if asked == "sparse" else None
    found = distribution.probabilities_of(tokens, count)
    wanted = range(count) if tokens is None else tokens.tolist()
    assert found.tolist() == [distribution.probability(token) for token in wanted]


def test_a_token_out_of_range_has_no_probability() -> None:
    dense = Distribution(None, np.array([0.5, 0.5]))
    assert dense.probability(-1) == 0
    assert dense.probability(2) == 0
