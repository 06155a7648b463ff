"""The drafter that never drafts: plain decoding through the same round as everything else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from specdec_cli.draft.values import Budget, Draft, DrafterNeeds, Outcome

EMPTY_DRAFT = Draft()


class PlainDrafter:
    """`--drafter none`: every draft is empty, so the target decodes one token per round."""

    name: ClassVar[str] = "none"
    needs: ClassVar[DrafterNeeds] = DrafterNeeds()
    seconds = 0.0
    notice: str | None = None

    def begin(self, tokens: Sequence[int]) -> None:
        """Nothing to remember."""

    def observe(self, tokens: Sequence[int]) -> None:
        """Nothing to remember."""

    def propose(self, budget: Budget) -> Draft:
        """An empty draft, whatever the budget."""
        return EMPTY_DRAFT

    def accept(self, outcome: Outcome) -> None:
        """Nothing to remember."""

    def close(self) -> None:
        """Nothing to free."""
