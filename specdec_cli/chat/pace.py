"""What plain decoding costs here, learned from the rounds that drafted nothing; so that a gain can be stated."""

from __future__ import annotations

from statistics import median

from specdec_cli.draft.values import Outcome

_ENOUGH = 8
_MOST = 64


class PlainPace:
    """Seconds per token of plain decoding, from the latest undrafted rounds."""

    def __init__(self) -> None:
        self._seconds: list[float] = []

    def hear(self, outcome: Outcome) -> None:
        """A round was played."""
        if not outcome.draft.tokens and outcome.tokens:
            self._seconds = [*self._seconds[-_MOST + 1 :], outcome.target_seconds]

    def gain(self, tokens: int, seconds: float) -> float | None:
        """Plain time ÷ time taken; None while too few plain rounds have been seen."""
        if len(self._seconds) < _ENOUGH or seconds <= 0:
            return None
        return tokens * median(self._seconds) / seconds
