"""Rejection sampling in two functions: how likely a candidate is kept, and what it leaves when it is not.

Leviathan et al. (2023), Chen et al. (2023). For one candidate x drawn from q, kept with probability
min(1, p(x) / q(x)) and otherwise replaced by a draw from the residual max(0, p - q) / sum:

    q(x) · min(1, p(x) / q(x))  +  P(rejected) · residual(x)  =  min(p, q)(x) + max(0, p - q)(x)  =  p(x)

With several candidates at one position the residual takes the place of p for the next one.
"""

from __future__ import annotations

import numpy as np

from specdec_cli.errors import EngineFault
from specdec_cli.sampling.distribution import Distribution


def acceptance_probability(target: Distribution, proposal: Distribution, token: int) -> float:
    """Probability of keeping `token`, which was drawn from `proposal`, when `target` is to be matched."""
    proposed = proposal.probability(token)
    if proposed <= 0:
        raise EngineFault(
            f"the drafter proposed token {token}, to which its own distribution gives no probability"
        )
    return min(1.0, target.probability(token) / proposed)


def residual(target: Distribution, proposal: Distribution) -> Distribution:
    """max(0, target - proposal), normalised: what remains to be drawn from after a rejection."""
    shared = proposal.probabilities_of(target.tokens, len(target))
    left = np.maximum(target.probabilities - shared, 0.0)
    total = float(np.sum(left))
    if total <= 0:
        # The two are equal: a rejection then has probability 0 and only rounding can bring us here.
        return target
    return Distribution(tokens=target.tokens, probabilities=left / total)
