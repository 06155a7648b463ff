"""Judging a draft: one walk for chains and trees, for *match* and for *reject*. No model, no state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from specdec_cli.draft import tree
from specdec_cli.draft.values import Draft
from specdec_cli.protocols import Logits
from specdec_cli.sampling.candidates import LogitRow
from specdec_cli.sampling.constraint import Constraint
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
    target's own: one longer than `path`. Only when an accepted token ended the generation by its grammar does
    the target's own fail to follow.
    """

    path: tuple[int, ...]
    tokens: tuple[int, ...]


Judge = Callable[[Logits, Draft, Sampler, Sequence[int], RandomSource, Rule, Constraint | None], Verdict]
"""What `judge` is to those who hold one: the session takes it as a part, so that a wrong one can be put in."""


def judge(
    rows: Logits,
    draft: Draft,
    sampler: Sampler,
    history: Sequence[int],
    random: RandomSource,
    rule: Rule,
    constraint: Constraint | None = None,
) -> Verdict:
    """Walk down the draft as far as the target goes along.

    `rows`: the target's logits, float32, shape (1 + len(draft), n_vocab): rows[0] after the last committed
    token, rows[1 + i] after node i. `history`: every committed token; its length is the position of the first
    new one. `constraint`: the state of the grammar after `history`. None of them is changed.

    *match* draws at each node what plain decoding draws there and follows the child that carries it.
    *reject* accepts or rejects the children one after another, in the order of the draft, each drawn from its
    own distribution given its earlier siblings (the same object when they were drawn independently, and then
    a token drawn twice must stay twice). Greedy needs no chance: both rules are then *match*.
    """
    tree.check(draft)
    offspring = tree.children(draft.parents)
    step = _match if rule == "match" or sampler.is_greedy else _reject
    here = _Here(sampler, random, Continuation(history), constraint)
    path: list[int] = []
    tokens: list[int] = []
    node = -1
    while True:
        token, child = step(rows[node + 1], draft, offspring[node + 1], here)
        tokens.append(token)
        if child is None:
            return Verdict(tuple(path), tuple(tokens))
        path.append(child)
        here = here.after(token)
        if here.constraint is not None and here.constraint.ended:
            return Verdict(tuple(path), tuple(tokens))
        node = child


@dataclass(frozen=True)
class _Here:
    """Where the walk stands: the text up to this node, and the grammar's state after it."""

    sampler: Sampler
    random: RandomSource
    text: Continuation
    constraint: Constraint | None
    own: bool = False
    """Whether the constraint is a fork of the walk's own, and no longer the caller's."""

    def after(self, token: int) -> _Here:
        self.text.append(token)
        if self.constraint is None:
            return self
        following = self.constraint if self.own else self.constraint.fork()
        following.accept(token)
        return replace(self, constraint=following, own=True)

    def choose(self, row: LogitRow) -> int:
        return self.sampler.choose(row, self.text, self.random, self.constraint)

    def distribution(self, row: LogitRow) -> Distribution:
        return self.sampler.distribution(row, self.text, self.random, self.constraint)


def _match(row: LogitRow, draft: Draft, candidates: list[int], here: _Here) -> tuple[int, int | None]:
    """The target's own token, and the candidate that carries it."""
    token = here.choose(row)
    return token, next((child for child in candidates if draft.tokens[child] == token), None)


def _reject(row: LogitRow, draft: Draft, candidates: list[int], here: _Here) -> tuple[int, int | None]:
    """The first candidate that is kept; else a token from what the rejected ones leave of the target."""
    if not candidates:
        return here.choose(row), None
    position = len(here.text)
    remaining = here.distribution(row)
    for number, child in enumerate(candidates):
        token = draft.tokens[child]
        proposal = draft.distributions[child] if draft.distributions else Distribution.point_mass(token)
        chance = here.random.uniform(position, ACCEPT, index=number)
        if chance < acceptance_probability(remaining, proposal, token):
            return token, child
        remaining = residual(remaining, proposal)
    return remaining.draw(here.random.uniform(position, RESIDUAL)), None
