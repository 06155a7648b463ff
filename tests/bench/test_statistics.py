"""Intervals against published tables and against each other."""

from __future__ import annotations

from math import exp, log, sqrt

import pytest

from specdec_cli.bench.statistics import paired_ratio, pooled_ratio, student_quantile


@pytest.mark.parametrize(
    ("probability", "freedom", "published"),
    [
        (0.975, 1, 12.7062),
        (0.975, 2, 4.3027),
        (0.975, 3, 3.1824),
        (0.975, 4, 2.7764),
        (0.975, 10, 2.2281),
        (0.975, 30, 2.0423),
        (0.95, 5, 2.0150),
        (0.995, 7, 3.4995),
        (0.975, 1000, 1.9623),
        (0.5, 4, 0.0),
    ],
)
def test_quantiles_are_those_of_the_tables(probability: float, freedom: int, published: float) -> None:
    assert student_quantile(probability, freedom) == pytest.approx(published, abs=1e-4)


@pytest.mark.parametrize(("probability", "freedom"), [(0.4, 3), (1.0, 3), (0.9, 0)])
def test_there_is_no_quantile_outside(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError):
        student_quantile(probability, freedom)


def test_a_paired_ratio_is_the_t_interval_of_the_logarithms() -> None:
    ratios = [1.10, 1.32, 1.21]
    estimate = paired_ratio(ratios)
    logs = [log(ratio) for ratio in ratios]
    mean = sum(logs) / 3
    half = 4.30265 * sqrt(sum((value - mean) ** 2 for value in logs) / 2) / sqrt(3)
    assert estimate.value == pytest.approx(exp(mean))
    assert estimate.low == pytest.approx(exp(mean - half), rel=1e-4)
    assert estimate.high == pytest.approx(exp(mean + half), rel=1e-4)
    assert estimate.pairs == 3


def test_exchanging_the_two_inverts_the_ratio() -> None:
    ratios = [1.5, 1.9, 1.2, 1.4]
    there, back = paired_ratio(ratios), paired_ratio([1 / ratio for ratio in ratios])
    assert there.low is not None
    assert back.high is not None
    assert there.value * back.value == pytest.approx(1.0)
    assert there.low * back.high == pytest.approx(1.0)
    assert there.surely_above_one
    assert back.surely_below_one


def test_one_pair_has_no_interval_and_proves_nothing() -> None:
    estimate = paired_ratio([2.0])
    assert (estimate.value, estimate.low, estimate.high) == (2.0, None, None)
    assert not estimate.surely_above_one
    with pytest.raises(ValueError, match="no pairs"):
        paired_ratio([])


def test_equal_pairs_have_no_spread() -> None:
    estimate = paired_ratio([1.25, 1.25, 1.25])
    assert estimate.low == pytest.approx(1.25)
    assert estimate.high == pytest.approx(1.25)


def test_every_task_counts_the_same_in_the_pool() -> None:
    estimate = pooled_ratio([[2.0, 2.0, 2.0, 2.0], [0.5, 0.5]])
    assert estimate.value == pytest.approx(1.0)
    assert estimate.pairs == 6


def test_pooling_two_like_tasks_is_welchs_interval() -> None:
    first, second = [1.0, 1.2, 1.1], [1.3, 1.0, 1.15]
    estimate = pooled_ratio([first, second])
    spreads = []
    for group in (first, second):
        logs = [log(ratio) for ratio in group]
        spreads.append(sum((value - sum(logs) / 3) ** 2 for value in logs) / 2 / 3)
    freedom = sum(spreads) ** 2 / sum(spread**2 / 2 for spread in spreads)
    assert 2 <= freedom < 4
    half = student_quantile(0.975, int(freedom)) * sqrt(sum(spreads)) / 2
    assert estimate.high == pytest.approx(estimate.value * exp(half))


def test_a_task_of_one_pair_leaves_the_pool_without_an_interval() -> None:
    assert pooled_ratio([[1.1, 1.2], [1.3]]).low is None


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    # 400 samples of 5 pairs whose true ratio is 1.2: 95 % of the intervals hold it. The bounds are where a
    # binomial of 400 with 0.95 falls outside once in 100 000 times.
    import random

    chance = random.Random(5)
    held = 0
    for _ in range(400):
        estimate = paired_ratio([1.2 * exp(chance.gauss(0.0, 0.08)) for _ in range(5)])
        assert estimate.low is not None
        assert estimate.high is not None
        held += estimate.low <= 1.2 <= estimate.high
    assert 359 <= held <= 397
