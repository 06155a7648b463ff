"""The softmax probability of one token, without the exponential of a whole vocabulary."""

from __future__ import annotations

import numpy as np

from specdec_cli.sampling.candidates import LogitRow, largest
from specdec_cli.sampling.constraint import Constraint

_DEPTH = np.float32(8.0)
_MOST = 4096
_ASKED = 32


def softmax_probability(row: LogitRow, token: int) -> float:
    """exp(row[token]) / sum(exp(row)), float32, good enough to decide how far to draft.

    A pass of `exp` over the vocabulary costs more than everything else a drafter does in Python. So tokens
    that have less than 1/3000 of this one's probability are left out. That makes the result at most a few
    percent too large, and more only on rows so flat that no decision depends on it; of those, a sample will do.
    """
    reference = row[token]
    near = np.flatnonzero(row > reference - _DEPTH)
    stride = 1 + len(near) // _MOST
    total = stride * float(np.exp(row[near[::stride]] - reference).sum())
    return 1.0 / max(total, 1.0)


def allowed_probability(row: LogitRow, token: int, constraint: Constraint) -> float:
    """The probability of the most likely allowed token among all allowed ones, about.

    Of the tokens below it the likeliest are asked for; of the others as large a share is taken to be allowed.
    """
    reference = row[token]
    near = np.flatnonzero((row > reference - _DEPTH) & (row <= reference))
    near = near[near != token]
    if not len(near):
        return 1.0
    weights = np.exp(row[near] - reference)
    asked = largest(weights, _ASKED)
    allowed = constraint.allowed(near[asked])
    share = float(weights[asked][allowed].sum() / weights[asked].sum())
    return 1.0 / (1.0 + share * float(weights.sum()))
