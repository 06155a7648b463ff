"""What a grammar is to sampling and judging: a state that says which tokens may come next."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from specdec_cli.errors import SpecdecError
from specdec_cli.protocols import Constraint
from specdec_cli.sampling.candidates import Candidates, LogitRow, check_peak, largest

__all__ = ["Constraint", "GrammarDeadEnd", "allowed_candidates", "allowed_nucleus"]

_NUCLEUS = 48
"""How many tokens are asked for first where no top-k bounds them."""


class GrammarDeadEnd(SpecdecError):
    """The grammar allows nothing that the model can write."""


def allowed_candidates(row: LogitRow, constraint: Constraint, count: int) -> Candidates:
    """The `count` most likely tokens that the constraint allows; all that it allows when `count` is 0.

    Asking a grammar costs time for each token, so the most likely ones are asked first, in growing handfuls:
    mostly the first one suffices. Raises `GrammarDeadEnd` when nothing is allowed.
    """
    if count == 0:
        check_peak(float(row.max()))
        possible = np.flatnonzero(row > -np.inf)
        return _not_none(row, possible[constraint.allowed(possible)], descending=False)
    handful = 2 * count + 2
    while True:
        likely = largest(row, handful)
        chosen = likely[constraint.allowed(likely)][:count]
        if len(chosen) == count or len(likely) < handful:
            return _not_none(row, chosen, descending=True)
        handful *= 8


def allowed_nucleus(row: LogitRow, constraint: Constraint, mass: float, ratio: float) -> Candidates:
    """What top-p (`mass`) and min-p (`ratio`) leave of the allowed tokens, in descending order.

    Each keeps a beginning of that order. For min-p the likeliest allowed token tells where it ends; for top-p the
    sum of all of them does, which is not less than that of those found, nor more than that and all tokens not yet
    asked for. So mostly a handful is enough; where it leaves the end open, more are asked for.
    """
    handful = _NUCLEUS
    while True:
        likely = largest(row, handful)
        chosen = likely[constraint.allowed(likely)]
        are_all = len(likely) < handful
        if are_all or len(chosen):
            found = _not_none(row, chosen, descending=True)
            count = _nucleus(found.logits, row, likely, are_all, mass, ratio)
            if count is not None:
                return Candidates(chosen[:count], found.logits[:count], descending=True)
        handful *= 8


def _nucleus(
    logits: LogitRow, row: LogitRow, asked: npt.NDArray[np.intp], are_all: bool, mass: float, ratio: float
) -> int | None:
    """How many of the allowed `logits` stay; None when that depends on tokens that were not asked for."""
    count, top = len(logits), logits[0]
    likely, ends = count, are_all
    if ratio > 0:
        bound = top + np.log(np.float32(ratio))
        likely = int(np.count_nonzero(logits >= bound))
        ends = are_all or likely < count or bool(row[asked[-1]] < bound)
    least = most = count + 1
    if mass < 1:
        others = row.copy()
        others[asked] = -np.inf
        unknown = 0.0 if are_all else float(np.exp(others - top).sum(dtype=np.float64))
        running = np.cumsum(np.exp(logits - top), dtype=np.float64)
        known = float(running[-1])
        least, most = (int(np.searchsorted(running, mass * total)) + 1 for total in (known, known + unknown))
    if ends and likely <= least:
        return likely
    return min(least, likely) if least == most <= count else None


def _not_none(row: LogitRow, chosen: npt.NDArray[np.intp], *, descending: bool) -> Candidates:
    if len(chosen):
        return Candidates(chosen, row[chosen], descending)
    raise GrammarDeadEnd(
        "the grammar allows no token to which the model gives any chance",
        hint="it may need a character that this vocabulary lacks, or --logit-bias forbids it",
        code="sampling.grammar_dead_end",
    )
