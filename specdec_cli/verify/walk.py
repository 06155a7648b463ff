"""Judging a draft: one walk for chains and trees, for *match* and for *reject*. No model, no state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from specdec_cli.draft import tree
from specdec_cli.draft.values import Draft
from specdec_cli.protocols import Logits
from specdec_cli.sampling.distribution import Distribution
from specdec_cli.sampling.history import Continuation
from specdec_cli.sampling.random_source import ACCEPT, RESIDUAL, RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.verify.rejection import acceptance_probability, residual

Rule = Literal["match", "reject"]


@dataclass(frozen=True)
class Verdict:
    """What the target makes of a draft.

    `path`: indices of the accepted nodes, from the root down. `tokens`: the accepted tokens and, last, the
    target's own: one longer than `path`.
    """

    path: tuple[int, ...]
    tokens: tuple[int, ...]


def judge(
    rows: Logits, draft: Draft, sampler: Sampler, history: Sequence[int], random: RandomSource, rule: Rule
) -> Verdict:
    """Walk down the draft as far as the target goes along.

    `rows`: the target's logits, float32, shape (1 + len(draft), n_vocab): rows[0] after the last committed
    token, rows[1 + i] after node i. `history`: every committed token; its length is the position of the first
    new one. Neither is changed.

    *match* draws at each node what plain decoding draws there and follows the child that carries it.
    *reject* accepts or rejects the children one after another, in the order of the draft, each drawn from its
    own distribution (given its earlier siblings; the same object when they were drawn independently, and then
    a token drawn twice must stay twice). Greedy needs no chance: both rules are then *match*.
    """
    tree.check(draft)
    offspring = tree.children(draft.parents)
    text = Continuation(history)
    path: list[int] = []
    tokens: list[int] = []
    node = -1
    while True:
        step = _match if rule == "match" or sampler.is_greedy else _reject
        token, child = step(rows[node + 1], draft, offspring[node + 1], sampler, text, random)
        tokens.append(token)
        if child is None:
            return Verdict(tuple(path), tuple(tokens))
        path.append(child)
        text.append(token)
        node = child


def _match(
    row: Logits,
    draft: Draft,
    candidates: list[int],
    sampler: Sampler,
    text: Continuation,
    random: RandomSource,
) -> tuple[int, int | None]:
    """The target's own token, and the candidate that carries it."""
    token = sampler.choose(row, text, random)
    return token, next((child for child in candidates if draft.tokens[child] == token), None)


def _reject(
    row: Logits,
    draft: Draft,
    candidates: list[int],
    sampler: Sampler,
    text: Continuation,
    random: RandomSource,
) -> tuple[int, int | None]:
    """The first candidate that is kept; else a token from what the rejected ones leave of the target."""
    if not candidates:
        return sampler.choose(row, text, random), None
    position = len(text)
    remaining = sampler.distribution(row, text, random)
    for number, child in enumerate(candidates):
        token = draft.tokens[child]
        proposal = draft.distributions[child] if draft.distributions else Distribution.point_mass(token)
        if random.uniform(position, ACCEPT, index=number) < acceptance_probability(
            remaining, proposal, token
        ):
            return token, child
        remaining = residual(remaining, proposal)
    return remaining.draw(random.uniform(position, RESIDUAL)), None
