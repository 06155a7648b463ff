"""Cutting from a draft what a grammar forbids, before the target pays for it."""

from __future__ import annotations

import numpy as np

from specdec_cli.draft import tree
from specdec_cli.draft.values import Draft
from specdec_cli.sampling.constraint import Constraint
from specdec_cli.sampling.distribution import Distribution


def prune(draft: Draft, constraint: Constraint) -> Draft:
    """The draft without forbidden nodes and what hangs on them. `constraint` is the state before the draft.

    Lossless for sampled drafts too: a node that stays was drawn from its distribution *given that it is
    allowed*, so that is the distribution it then carries. (Were it left as it was, the cases in which the
    node was cut would be answered with the whole target instead of the residual.)
    """
    offspring = tree.children(draft.parents)
    states: dict[int, Constraint] = {-1: constraint}
    kept: list[int] = []
    distributions: list[Distribution] = []
    for node, (token, parent) in enumerate(zip(draft.tokens, draft.parents, strict=True)):
        state = states.get(parent)
        if state is None or not state.allowed(np.array([token]))[0]:
            continue
        kept.append(node)
        if draft.distributions is not None:
            distributions.append(restrict(draft.distributions[node], state))
        if offspring[node + 1]:
            # A parent's last child takes over its state, so that a chain forks once.
            is_last = parent >= 0 and offspring[parent + 1][-1] == node
            following = states.pop(parent) if is_last else state.fork()
            following.accept(token)
            if not following.ended:
                states[node] = following
    return _only(draft, kept, distributions)


def restrict(distribution: Distribution, constraint: Constraint) -> Distribution:
    """The distribution given that its token is allowed. One allowed token must have a positive probability."""
    tokens = distribution.tokens
    if tokens is None:
        tokens = np.flatnonzero(distribution.probabilities)
    probabilities = distribution.probabilities_of(tokens, len(tokens))
    allowed = constraint.allowed(tokens)
    if np.all(allowed):
        return distribution
    left = probabilities[allowed]
    return Distribution(tokens=tokens[allowed], probabilities=left / np.sum(left))


def _only(draft: Draft, kept: list[int], distributions: list[Distribution]) -> Draft:
    number = {node: place for place, node in enumerate(kept)} | {-1: -1}
    return Draft(
        tokens=tuple(draft.tokens[node] for node in kept),
        parents=tuple(number[draft.parents[node]] for node in kept),
        distributions=None if draft.distributions is None else tuple(distributions),
        confidences=tuple(draft.confidences[node] for node in kept) if draft.confidences else (),
        source=draft.source,
    )
