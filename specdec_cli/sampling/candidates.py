"""Finding the few likely tokens in a row of hundreds of thousands, without sorting it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from specdec_cli.errors import SpecdecError
from specdec_cli.sampling.distribution import TokenIds

LogitRow = npt.NDArray[np.float32]
Values = npt.NDArray[np.floating[Any]]

_BLOCK = 512
"""A row is looked at in blocks of this many entries to find its largest ones."""


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

    Raises `SpecdecError` on NaN, on +inf, and when nothing is left.
    """
    size = len(values)
    if count >= size:
        check_peak(float(values.max()))
        reached = np.flatnonzero(values > -np.inf)
    elif size >= 2 * count * _BLOCK:
        reached = _reach_by_blocks(values, count)
    else:
        check_peak(float(values.max()))
        bound = np.partition(values, size - count)[size - count]
        reached = np.flatnonzero(values >= bound if bound > -np.inf else values > bound)
    return reached[np.argsort(-values[reached], kind="stable")[:count]]


def _reach_by_blocks(values: Values, count: int) -> npt.NDArray[np.intp]:
    """Indices of all values that reach a lower bound of the `count`-th largest, in ascending order.

    The bound is the count-th largest of the maxima of blocks: `count` values reach it, one in each of those
    blocks, and only blocks whose maximum reaches it have to be looked through.
    """
    whole = len(values) - len(values) % _BLOCK
    blocks, rest = values[:whole].reshape(-1, _BLOCK), values[whole:]
    maxima = np.maximum.reduce(blocks, axis=1)
    # NaN runs through maxima and sorts last, so that it would be on top here.
    upper = np.partition(maxima, len(maxima) - count)[len(maxima) - count :]
    check_peak(float(np.max(np.concatenate((upper, rest)))))
    bound = upper[0]
    if bound == -np.inf:
        return np.flatnonzero(values > bound)
    chosen = np.flatnonzero(maxima >= bound)
    inside = np.flatnonzero(blocks[chosen] >= bound)
    reached = chosen[inside // _BLOCK] * _BLOCK + inside % _BLOCK
    return np.concatenate((reached, whole + np.flatnonzero(rest >= bound))) if len(rest) else reached


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
