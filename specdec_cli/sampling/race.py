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
    token with probability at least (1 - d) / (1 + d), as long as each token runs for itself: a draft that
    draws this way agrees with the target far more often than one that draws by chance. Inverting a running
    sum has no such bound.
    """
    probabilities = distribution.probabilities
    if len(probabilities) <= _SMALL:
        tokens = np.arange(len(probabilities)) if distribution.tokens is None else distribution.tokens
        noise = random.exponentials(position, tokens, TARGET)
        return int(tokens[np.argmax(probabilities / noise)])
    head = largest(probabilities, _HEAD)
    head_probabilities = probabilities[head]
    head_tokens = head if distribution.tokens is None else distribution.tokens[head]
    # The first of many independent arrivals is itself exponential, with the sum of their rates, and
    # independent of who it was: so the unlikely tokens need one number together and one more if they win.
    speeds = head_probabilities / random.exponentials(position, head_tokens, TARGET)
    tail_speed = (1.0 - np.sum(head_probabilities)) / random.exponentials(position, _TAIL, TARGET)[0]
    winner = int(np.argmax(speeds))
    if speeds[winner] >= tail_speed:
        return int(head_tokens[winner])
    tail = probabilities.copy()
    tail[head] = 0.0
    if not tail.any():
        # 1 - sum was rounding.
        return int(head_tokens[winner])
    return Distribution(distribution.tokens, tail).draw(random.uniform(position, TARGET, index=1))
