"""What a grammar is to sampling and judging: a state that says which tokens may come next."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from specdec_cli.errors import SpecdecError
from specdec_cli.protocols import Constraint
from specdec_cli.sampling.candidates import Candidates, LogitRow, check_peak, largest

__all__ = ["Constraint", "GrammarDeadEnd", "allowed_candidates"]


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


def _not_none(row: LogitRow, chosen: npt.NDArray[np.intp], *, descending: bool) -> Candidates:
    if len(chosen):
        return Candidates(chosen, row[chosen], descending)
    raise GrammarDeadEnd(
        "the grammar allows no token to which the model gives any chance",
        hint="it may need a character that this vocabulary lacks, or --logit-bias forbids it",
        code="sampling.grammar_dead_end",
    )
