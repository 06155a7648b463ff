"""Speeds as plain values: a range, and what was measured on this machine. Tokens per second."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """From low to high."""

    low: float
    high: float

    def text(self, form: str) -> str:
        """For people: "1.20 to 1.75", or one number where both look the same. `form` as in `format`."""
        low, high = format(self.low, form), format(self.high, form)
        return low if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class MeasuredDrafting:
    """What speculation was measured to do: the lowest and the highest of several measurements."""

    tokens_per_second: Span
    speedup: Span
    """Over plain decoding."""
    basis: str
    """What was measured and when, plain decoding included: "measured here in 4 runs, the last on …"."""


@dataclass(frozen=True)
class MeasuredSpeed:
    """What models were measured to do on this machine, with the settings in question."""

    plain_tps: float
    basis: str
    """What `plain_tps` comes from: "measured here in 2 runs, the last on …"."""
    drafting: MeasuredDrafting | None = None
    """None where nothing has speculated yet."""
