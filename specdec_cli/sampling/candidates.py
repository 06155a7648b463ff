"""Finding the few likely tokens in a row of hundreds of thousands, without sorting it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from specdec_cli.errors import SpecdecError
from specdec_cli.sampling.distribution import TokenIds

LogitRow = npt.NDArray[np.float32]
Row = npt.NDArray[np.floating[Any]]

_WIDTH = 2048
"""Columns into which a row is folded to bound its k-th largest entry."""


class Candidates(NamedTuple):
    """Tokens still in the race, with their logits (float32).

    `tokens` None: the whole row, in id order. Otherwise in descending order of logits, ties by smaller id, and
    without entries of -inf.
    """

    tokens: TokenIds | None
    logits: LogitRow


def largest(row: LogitRow, count: int) -> Candidates:
    """The `count` largest entries of a row that are not -inf, in descending order, ties by smaller id.

    Folding the row into columns and taking the count-th largest of the column maxima gives a number that at
    least `count` entries reach: only those are sorted. Raises on NaN, on +inf, and when nothing is left.
    """
    width = min(_WIDTH, len(row))
    if count >= width:
        return _check(descending(np.flatnonzero(row != -np.inf), row, count))
    whole = len(row) - len(row) % width
    column_maxima = np.maximum.reduce(row[:whole].reshape(-1, width), axis=0)
    if whole < len(row):
        remainder = row[whole:]
        np.maximum(column_maxima[: len(remainder)], remainder, out=column_maxima[: len(remainder)])
    # NaN runs through the maximum and sorts last, so it comes out on top here.
    upper = np.partition(column_maxima, width - count)[width - count :]
    bound = upper[0]
    check_peak(float(upper.max()))
    return descending(np.flatnonzero(row >= bound if bound > -np.inf else row > bound), row, count)


def above(row: LogitRow, bound: np.float32) -> Candidates:
    """Every entry of a row that reaches `bound`, in descending order, ties by smaller id."""
    return descending(np.flatnonzero(row >= bound), row, len(row))


def descending(tokens: TokenIds, row: LogitRow, count: int) -> Candidates:
    """The first `count` of `tokens` (ascending ids) by descending logit, ties by smaller id."""
    logits = row[tokens]
    order = np.argsort(-logits, kind="stable")[:count]
    return Candidates(tokens[order], logits[order])


def keep(candidates: Candidates, chosen: npt.NDArray[np.intp] | npt.NDArray[np.bool_] | slice) -> Candidates:
    """The chosen ones of an ordered candidate list."""
    assert candidates.tokens is not None
    return Candidates(candidates.tokens[chosen], candidates.logits[chosen])


def check_peak(peak: float) -> None:
    """Refuse a row by its maximum: NaN, +inf, or -inf (nothing left to choose)."""
    if peak != peak or peak == np.inf:
        raise SpecdecError(
            "the model returned logits that are not numbers (NaN or infinity): no token can be chosen",
            hint="the file may be damaged, or this backend cannot run it: try --gpu-layers 0, "
            "--flash-attn off, or another quantization",
            code="hardware.nan_logits",
        )
    if peak == -np.inf:
        raise SpecdecError(
            "no token is left to choose: every logit is minus infinity",
            hint="look at --logit-bias and the grammar: together they forbid everything",
            code="sampling.nothing_left",
        )


def _check(candidates: Candidates) -> Candidates:
    logits = candidates.logits
    # NaN sorts last, +inf first.
    check_peak(float(np.max(logits)) if len(logits) else -np.inf)
    return candidates
