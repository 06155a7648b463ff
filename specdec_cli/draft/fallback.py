"""Several drafters in order: the first that has something to offer is asked no further."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from specdec_cli.draft.values import Budget, Draft, Drafter, DrafterNeeds, Outcome


class FallbackDrafter:
    """Proposes what the first of `drafters` with a draft proposes; all of them follow the text.

    "n-gram first, model second" copies where the text repeats itself and asks the draft model elsewhere. The
    draft's `source` says whose it is.
    """

    name: ClassVar[str] = "fallback"
    needs: ClassVar[DrafterNeeds] = DrafterNeeds(own_context=True)

    def __init__(self, drafters: Sequence[Drafter]) -> None:
        self._drafters = tuple(drafters)
        self._proposer: Drafter | None = None

    @property
    def seconds(self) -> float:
        """Seconds inside native decodes, of all of them."""
        return sum(drafter.seconds for drafter in self._drafters)

    @property
    def notice(self) -> str | None:
        """The first notice that one of them has."""
        return next((drafter.notice for drafter in self._drafters if drafter.notice is not None), None)

    def begin(self, tokens: Sequence[int]) -> None:
        """Begin all of them."""
        self._proposer = None
        for drafter in self._drafters:
            drafter.begin(tokens)

    def observe(self, tokens: Sequence[int]) -> None:
        """All of them hear of it."""
        for drafter in self._drafters:
            drafter.observe(tokens)

    def propose(self, budget: Budget) -> Draft:
        """The first draft that is not empty."""
        for drafter in self._drafters:
            draft = drafter.propose(budget)
            if len(draft) > 0:
                self._proposer = drafter
                return draft
        self._proposer = None
        return Draft()

    def accept(self, outcome: Outcome) -> None:
        """The one that proposed hears what became of it, the others what was committed."""
        for drafter in self._drafters:
            if drafter is self._proposer:
                drafter.accept(outcome)
            else:
                drafter.observe(outcome.tokens)
        self._proposer = None

    def close(self) -> None:
        """Close all of them."""
        for drafter in self._drafters:
            drafter.close()
