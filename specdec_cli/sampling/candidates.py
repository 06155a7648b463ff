"""Finding the few likely tokens in a row of hundreds of thousands, without sorting it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from specdec_cli.errors import SpecdecError
from specdec_cli.sampling.distribution import TokenIds

LogitRow = npt.NDArray[np.float32]
Values = npt.NDArray[np.floating[Any]]

_WIDTH = 2048
"""Columns into which a row is folded to bound its k-th largest entry."""


class Candidates(NamedTuple):
    """Tokens still in the race, with their logits (float32)."""

    tokens: TokenIds | None
    """int64; None: the whole row, the index being the id."""
    logits: LogitRow
    descending: bool = False
    """Whether they are in descending order of logits (ties: smaller id first); else they are in id order."""

    def kept(self, chosen: npt.NDArray[np.intp], *, descending: bool | None = None) -> Candidates:
        """Those at the indices `chosen`, in that order."""
        return Candidates(
            chosen if self.tokens is None else self.tokens[chosen],
            self.logits[chosen],
            self.descending if descending is None else descending,
        )


def largest(values: Values, count: int) -> npt.NDArray[np.intp]:
    """Indices of the `count` largest values, in descending order, ties by smaller index; never one of -inf.

    A cheap lower bound of the count-th largest value leaves few to sort: the row is folded into columns, and
    the count-th largest of the column maxima is a number that at least `count` values reach.
    Raises `SpecdecError` on NaN, on +inf, and when nothing is left.
    """
    size = len(values)
    if count >= size:
        bound = -np.inf
        check_peak(float(values.max()))
    elif count < _WIDTH < size:
        maxima = _column_maxima(values)
        # NaN runs through maxima and sorts last, so it would be on top here.
        upper = np.partition(maxima, _WIDTH - count)[_WIDTH - count :]
        bound = float(upper[0])
        check_peak(float(upper.max()))
    else:
        bound = float(np.partition(values, size - count)[size - count])
        check_peak(float(values.max()))
    reached = np.flatnonzero(values >= bound if bound > -np.inf else values > bound)
    return reached[np.argsort(-values[reached], kind="stable")[:count]]


def _column_maxima(values: Values) -> Values:
    whole = len(values) - len(values) % _WIDTH
    maxima: Values = np.maximum.reduce(values[:whole].reshape(-1, _WIDTH), axis=0)
    rest = values[whole:]
    np.maximum(maxima[: len(rest)], rest, out=maxima[: len(rest)])
    return maxima


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
