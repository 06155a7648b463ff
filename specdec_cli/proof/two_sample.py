"""Do two samples come from one distribution? Pearson's statistic, its chance found by permutation.

Under the null hypothesis it does not matter which answer is in which sample, so the statistic of the samples as they
are is one of equally likely values: those of all ways to deal the answers out anew. The p-value is the share of the
ways that differ at least as much. It is exact for any sample size, also though the tokens of one answer depend on one
another: answers are dealt whole. Answers to different prompts are never mixed.

The statistic is taken for each position of an answer, over all prompts; what counts is the position at which it stands
out most. (A mistake shows at the first token most clearly, and the sum over all tokens would dilute it.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

PERMUTATIONS = 1999
_AT_ONCE = 500
_RARE = 10
"""Tokens seen less often than this in both samples together count as one."""
RARE = -1
"""Stands for the rare tokens together."""
ENDED = -2
"""Stands for no token: the answer had ended before."""

Beginnings = Sequence[tuple[int, ...]]
"""The first tokens of several answers to one prompt."""


@dataclass(frozen=True)
class Cell:
    """One token at one place, and how its count differs between the samples."""

    prompt: int
    position: int
    token: int
    first_share: float
    second_share: float
    weight: float
    """Its part of the statistic."""


@dataclass(frozen=True)
class Comparison:
    """The outcome: the p-value, and the cell that differs most (None when there is but one everywhere)."""

    p_value: float
    largest: Cell | None


def compare(pairs: Sequence[tuple[Beginnings, Beginnings]], length: int, seed: int) -> Comparison:
    """Compare the first and the second sample of each prompt, of equal size, over the first `length` tokens."""
    random = np.random.default_rng(seed)
    # Row 0: the samples as they are; the others: the answers dealt anew.
    statistics = np.zeros((1 + PERMUTATIONS, length))
    cells: list[Cell] = []
    for prompt, (first, second) in enumerate(pairs):
        names, table = _table([*first, *second], length)
        totals = table.sum(axis=0)
        positions = np.array([position for position, _token in names])
        in_first = np.zeros((1, len(table)), dtype=np.float32)
        in_first[0, : len(first)] = 1
        weights = _weights(in_first, table, totals)
        _add(statistics[:1], weights, positions)
        for start in range(1, 1 + PERMUTATIONS, _AT_ONCE):
            part = statistics[start : start + _AT_ONCE]
            deals = random.permuted(np.repeat(in_first, len(part), axis=0), axis=1)
            _add(part, _weights(deals, table, totals), positions)
        shares = np.stack((in_first[0] @ table, (1 - in_first[0]) @ table)) / len(first)
        for (position, token), weight, (one, other) in zip(names, weights[0], shares.T, strict=True):
            cells.append(Cell(prompt, position, token, float(one), float(other), float(weight)))
    standing_out = _standard(statistics).max(axis=1)
    at_least = int(np.sum(standing_out >= standing_out[0] - 1e-6))
    largest = max(cells, key=lambda cell: cell.weight, default=None)
    return Comparison(at_least / (1 + PERMUTATIONS), largest)


def _add(
    statistics: npt.NDArray[np.float64], weights: npt.NDArray[np.float32], positions: npt.NDArray[Any]
) -> None:
    """Add the weights of the columns of each position to its statistic. Both arrays have a row for each deal."""
    for position in np.unique(positions):
        statistics[:, position] += weights[:, positions == position].sum(axis=1)


def _standard(statistics: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Each column in standard deviations from its mean; 0 where nothing varies."""
    deviation = statistics.std(axis=0)
    return np.asarray((statistics - statistics.mean(axis=0)) / np.where(deviation > 1e-9, deviation, np.inf))


def _table(answers: Beginnings, length: int) -> tuple[list[tuple[int, int]], npt.NDArray[np.float32]]:
    """Which answer (row) has which token at which position (column, named by both); rare tokens share one."""
    names: list[tuple[int, int]] = []
    columns: list[list[bool]] = []
    for position in range(length):
        here = [answer[position] if position < len(answer) else ENDED for answer in answers]
        counts = Counter(here)
        pooled = [token if counts[token] >= _RARE else RARE for token in here]
        for token in sorted(set(pooled)):
            names.append((position, token))
            columns.append([other == token for other in pooled])
    return names, np.array(columns, dtype=np.float32).T


def _weights(
    in_first: npt.NDArray[np.float32], table: npt.NDArray[np.float32], totals: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """For each deal (row) and column: (count in the first - count in the second)² / count in both."""
    return np.asarray((2 * (in_first @ table) - totals) ** 2 / totals)
