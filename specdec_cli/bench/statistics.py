"""Ratios of paired runs: their geometric mean and its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan, cos, exp, fsum, inf, log, pi, sin, sqrt

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A ratio. `low` and `high` are None where there are too few pairs to say (fewer than two)."""

    value: float
    low: float | None
    high: float | None
    pairs: int

    @property
    def surely_above_one(self) -> bool:
        """Whether the whole interval lies above 1."""
        return self.low is not None and self.low > 1.0

    @property
    def surely_below_one(self) -> bool:
        """Whether the whole interval lies below 1."""
        return self.high is not None and self.high < 1.0


def paired_ratio(ratios: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The geometric mean of `ratios` (all > 0), with Student's t interval of the mean of their logarithms.

    Raises `ValueError` for none at all.
    """
    return pooled_ratio([ratios], confidence)


def pooled_ratio(groups: Sequence[Sequence[float]], confidence: float = CONFIDENCE) -> Estimate:
    """The geometric mean over groups (tasks) of their geometric means: every group counts the same.

    Its variance is the sum of those of the groups' means over the square of their number, with the degrees of
    freedom of Welch and Satterthwaite, rounded down. A group of one pair has no variance of its own: with one
    in it there is no interval.
    """
    logs = [[log(ratio) for ratio in group] for group in groups if group]
    if not logs:
        raise ValueError("no pairs")
    means = [fsum(group) / len(group) for group in logs]
    mean = fsum(means) / len(means)
    pairs = sum(len(group) for group in logs)
    if any(len(group) < 2 for group in logs):
        return Estimate(exp(mean), None, None, pairs)
    # Variance of each group's mean.
    variances = [
        fsum((value - centre) ** 2 for value in group) / (len(group) - 1) / len(group)
        for group, centre in zip(logs, means, strict=True)
    ]
    total = fsum(variances)
    if total <= 0:
        return Estimate(exp(mean), exp(mean), exp(mean), pairs)
    spread = fsum(variance**2 / (len(group) - 1) for group, variance in zip(logs, variances, strict=True))
    # The sum of squares underflows where all pairs agree to the last digit.
    freedom = max(1, int(total**2 / spread + 1e-9)) if spread > 0 else 1
    half = student_quantile((1 + confidence) / 2, freedom) * sqrt(total) / len(logs)
    return Estimate(exp(mean), exp(mean - half), exp(mean + half), pairs)


def student_quantile(probability: float, freedom: int) -> float:
    """The value that Student's t with `freedom` degrees (1, 2, …) stays below with `probability` (0.5 … 1)."""
    if freedom < 1 or not 0.5 <= probability < 1:
        raise ValueError(f"no quantile {probability} of Student's t with {freedom} degrees of freedom")
    inside = 2 * probability - 1
    low, high = 0.0, 1.0
    while _share_within(high, freedom) < inside:
        low, high = high, high * 2
    for _ in range(100):
        middle = (low + high) / 2
        if _share_within(middle, freedom) < inside:
            low = middle
        else:
            high = middle
    return high


def _share_within(value: float, freedom: int) -> float:
    """P(−value < t < value): the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    if value == inf:
        return 1.0
    angle = atan(value / sqrt(freedom))
    cosine_squared = cos(angle) ** 2
    odd = freedom % 2
    if freedom == 1:
        return 2 * angle / pi
    term = cos(angle) if odd else 1.0
    total = term
    for k in range(2 if odd else 1, freedom - 1, 2):
        term *= k / (k + 1) * cosine_squared
        total += term
    if odd:
        return 2 / pi * (angle + sin(angle) * total)
    return sin(angle) * total
