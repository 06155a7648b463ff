"""The values drafters exchange with the engine: a draft, a budget, an outcome; and the drafter protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from specdec_cli.protocols import Constraint
from specdec_cli.sampling.distribution import Distribution


@dataclass(frozen=True)
class Draft:
    """Proposed tokens as a tree in a parent array.

    `parents[i]` is the index of node i's parent, −1 when it follows the pending token directly; parents come
    before children. A chain is the tree whose parent is i − 1. `distributions[i]` is the distribution that
    node i was sampled from (the same object for siblings), or the whole tuple is None when the tokens were
    chosen deterministically: each is then a point mass. `confidences[i]` is the drafter's own probability for
    the token, when it has one.
    """

    tokens: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()
    distributions: tuple[Distribution, ...] | None = None
    confidences: tuple[float, ...] = ()
    source: str = ""
    """Name of the drafter that made it: a fallback or policy passes on its child's."""

    @classmethod
    def chain(
        cls,
        tokens: Sequence[int],
        *,
        distributions: Sequence[Distribution] | None = None,
        confidences: Sequence[float] = (),
        source: str = "",
    ) -> Draft:
        """A draft without branches."""
        return cls(
            tokens=tuple(tokens),
            parents=tuple(range(-1, len(tokens) - 1)),
            distributions=None if distributions is None else tuple(distributions),
            confidences=tuple(confidences),
            source=source,
        )

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class Budget:
    """How far a drafter may go in one round."""

    max_tokens: int
    keep_going: Callable[[int, float], bool] | None = None
    """Asked after each drafted token with (tokens drafted so far, the last one's confidence in 0 … 1);
    False ends the draft. None: go on to `max_tokens`."""
    constraint: Constraint | None = None
    """The grammar's state after the text so far, when there is a grammar: look ahead on a fork of it. A draft that
    pays it no heed is cut before the first forbidden token."""


@dataclass(frozen=True)
class Outcome:
    """What became of a draft: told to the drafter, the policy and whoever listens."""

    draft: Draft
    path: tuple[int, ...]
    """Indices into the draft of the accepted nodes, in order; empty when nothing was accepted."""
    tokens: tuple[int, ...]
    """What was committed in this round: the accepted tokens and the target's own last one. Fewer when a stop
    cut the run short."""
    target_seconds: float = 0.0
    """Native time of the target's decode."""
    draft_seconds: float = 0.0
    """Native time the drafter spent proposing."""


@dataclass(frozen=True)
class DrafterNeeds:
    """What the engine must provide for a drafter; declared on the class, read by `assemble`."""

    own_context: bool = False
    """Whether it decodes with a draft model of its own."""
    hidden_layers: tuple[int, ...] = field(default=())
    """Which of the target's layers it wants hidden rows from; none of today's drafters."""


class Drafter(Protocol):
    """Proposes tokens for the target to verify. Holds whatever it needs to know of the text so far."""

    name: ClassVar[str]
    needs: ClassVar[DrafterNeeds]

    @property
    def seconds(self) -> float:
        """Seconds spent inside native decodes of its own so far; 0 for a drafter without a context."""

    @property
    def notice(self) -> str | None:
        """Something the user should know about it now ("its context is full"), or None."""

    def begin(self, tokens: Sequence[int]) -> None:
        """A generation starts from `tokens` (prompt, all of it). Keeps what it knows of a common prefix."""

    def observe(self, tokens: Sequence[int]) -> None:
        """`tokens` were committed without this drafter being asked."""

    def propose(self, budget: Budget) -> Draft:
        """At most `budget.max_tokens` tokens to follow the text so far; empty when it has nothing to offer."""

    def accept(self, outcome: Outcome) -> None:
        """The draft it proposed last was judged: drop what was rejected, take in `outcome.tokens`."""

    def close(self) -> None:
        """Free native resources. Closing twice is harmless."""
