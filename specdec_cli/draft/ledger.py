"""What the policy did and what it gained: the rate at which time is valued, and the summary for people."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from specdec_cli.draft.costs import CostProfile

State = Literal["on", "off", "auto-off"]

_RATE_MEMORY = 0.97
_FIRST_STEPS = 10.0
"""Plain steps that the rate starts from."""
_RECENT_MEMORY = 0.98
_STILL_ON = 0.05


@dataclass(frozen=True)
class PolicySummary:
    """What the policy did, and what it gained."""

    state: State
    reason: str
    rounds: dict[str, int]
    """Rounds by choice: "none" for plain ones, else the drafter's name."""
    probes: int
    """Rounds in which it drafted only to see whether drafting would pay."""
    gain: float | None
    """Estimated tokens per second over those of plain decoding; None before the first round."""

    @property
    def text(self) -> str:
        """The gain and its basis in one line; the reason when there is none."""
        if self.gain is None:
            return self.reason
        plain = self.rounds.get("none", 0)
        basis = f"{plain} plain rounds" if plain else "the calibration"
        return f"{self.gain:.2f}× over plain, estimated from {basis}"


@runtime_checkable
class Policy(Protocol):
    """A drafter that decides, and can say what it did."""

    profile: CostProfile

    def summary(self) -> PolicySummary:
        """What it did so far, and what it gained."""


class Ledger:
    """Rounds, tokens and seconds so far."""

    def __init__(self) -> None:
        self.rounds: Counter[str] = Counter()
        self._tokens = _FIRST_STEPS
        self._steps = _FIRST_STEPS
        self._plain_seconds = 0.0
        self._seconds = 0.0
        self._recent_share = 1.0

    @property
    def tokens_per_step(self) -> float:
        """Tokens in the time of one plain step, lately; never less than the 1 that plain decoding brings.

        In steps, not seconds: so other load on the machine, which slows everything, changes nothing.
        """
        return max(1.0, self._tokens / self._steps)

    @property
    def gain(self) -> float | None:
        """The time that plain decoding would have taken for the same tokens, over the time it took."""
        return self._plain_seconds / self._seconds if self._seconds > 0 else None

    @property
    def is_speculating(self) -> bool:
        """Whether drafts are verified, lately."""
        drafted = sum(self.rounds.values()) - self.rounds["none"]
        return drafted > 0 and self._recent_share > _STILL_ON

    def enter(self, source: str, tokens: int, foreseen_seconds: float, plain_step: float) -> None:
        """One round. Both times are the profile's: a burst of other load in one of them would tell nothing."""
        self.rounds[source] += 1
        self._tokens = self._tokens * _RATE_MEMORY + tokens
        self._steps = self._steps * _RATE_MEMORY + foreseen_seconds / plain_step
        self._recent_share = self._recent_share * _RECENT_MEMORY + (source != "none") * (1 - _RECENT_MEMORY)
        self._plain_seconds += tokens * plain_step
        self._seconds += foreseen_seconds
