"""Drawing a token so that two similar distributions mostly draw the same one."""

from __future__ import annotations

import numpy as np

from specdec_cli.sampling.candidates import largest
from specdec_cli.sampling.distribution import Distribution
from specdec_cli.sampling.random_source import TARGET, RandomSource

_HEAD = 256
"""How many tokens of a large dense distribution run for themselves; the others run as one."""
_SMALL = 4096
"""Up to this many tokens all run for themselves."""
_TAIL = np.array([-1], dtype=np.int64)
"""Stands for the tokens that run as one."""


def race(distribution: Distribution, random: RandomSource, position: int) -> int:
    """Draw by an exponential race: token i arrives at E_i / p_i, and the first one wins.

    Exact: the first of independent arrivals with rates p_i is i with probability p_i. And because the noise
    E_i belongs to the token and the position, two distributions at total variation distance d draw the same
    token with probability at least (1 - d) / (1 + d): a draft that draws this way agrees with the target far
    more often than one that draws by chance. Inverting a running sum has no such bound.
    """
    probabilities = distribution.probabilities
    if distribution.tokens is not None:
        noise = random.exponentials(position, distribution.tokens, TARGET)
        return int(distribution.tokens[np.argmax(probabilities / noise)])
    if len(probabilities) <= _SMALL:
        noise = random.exponentials(position, np.arange(len(probabilities)), TARGET)
        return int(np.argmax(probabilities / noise))
    head = largest(probabilities, _HEAD)
    assert head.tokens is not None
    # The first of many independent arrivals is itself exponential, with the sum of their rates, and
    # independent of who it was: so the unlikely tokens need one number together and one more if they win.
    tail_mass = max(1.0 - float(np.sum(head.logits)), 0.0)
    speeds = head.logits / random.exponentials(position, head.tokens, TARGET)
    winner = int(np.argmax(speeds))
    if speeds[winner] * random.exponentials(position, _TAIL, TARGET)[0] >= tail_mass:
        return int(head.tokens[winner])
    tail = probabilities.copy()
    tail[head.tokens] = 0.0
    if not np.any(tail):
        return int(head.tokens[winner])
    return Distribution(None, tail).draw(random.uniform(position, TARGET, index=1))
