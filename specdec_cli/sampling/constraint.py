"""What a grammar is to sampling and judging: a state that says which tokens may come next."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from specdec_cli.errors import SpecdecError
from specdec_cli.sampling.candidates import Candidates, LogitRow, check_peak, largest
from specdec_cli.sampling.distribution import TokenIds


class Constraint(Protocol):
    """The state of a grammar after the committed text.

    Constrained sampling is the sampler's chain over the logits of the allowed tokens alone, the others being
    -inf (llama.cpp with its grammar applied first).

    Whoever owns the committed text owns the constraint and calls `accept` for committed tokens and no others.
    Drafters and the judge look ahead on a `fork`, so that nothing has to be taken back.
    """

    @property
    def ended(self) -> bool:
        """Whether the last accepted token ended the generation: nothing may follow, the walk stops."""

    def allowed(self, tokens: TokenIds) -> npt.NDArray[np.bool_]:
        """For each of `tokens` (int64 ids, shape (n,)), whether it may come next. Changes nothing."""

    def accept(self, token: int) -> None:
        """Advance by one token, which must be allowed."""

    def fork(self) -> Constraint:
        """An independent copy in the same state."""


def allowed_candidates(row: LogitRow, constraint: Constraint, count: int) -> Candidates:
    """The `count` most likely tokens that the constraint allows; all that it allows when `count` is 0.

    Asking a grammar costs time for each token, so the most likely ones are asked first, in growing handfuls:
    mostly the first one suffices. Raises `SpecdecError` when nothing is allowed.
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
    raise SpecdecError(
        "the grammar allows no token to which the model gives any chance",
        hint="it may need a character that this vocabulary lacks, or --logit-bias forbids it",
        code="sampling.grammar_dead_end",
    )
