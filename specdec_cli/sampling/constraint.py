"""What a grammar is to sampling and judging: a state that says which tokens may come next."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from specdec_cli.sampling.distribution import TokenIds


class Constraint(Protocol):
    """The state of a grammar after the committed text.

    Constrained sampling is the sampler's chain over the logits of the allowed tokens alone, the others being
    -inf (llama.cpp with its grammar applied first). The sampler asks for as few tokens as the answer needs:
    the most likely ones, in growing handfuls, and the whole vocabulary only when top-k is off.

    Whoever owns the committed text owns the constraint and calls `accept` for committed tokens, no others.
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
