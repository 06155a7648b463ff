"""What a round costs on this machine: measured once, then kept true by the rounds themselves."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log
from typing import Any

from specdec_cli.errors import SpecdecError

SCHEMA = 1

_TABLE = 34
"""Row counts up to here are looked up; beyond, the curve goes on with its last slope."""
_SHARED_GAIN = 0.06
_OWN_GAIN = 0.04
_STALE_GAIN = 0.2
_STALE_AFTER = 64
"""How much of a deviation is believed: by all row counts together; by this row count alone; and in addition by
one that was not seen for this many observations."""
_CLIP = 0.3
"""A deviation in log seconds counts for no more than this, so a burst of other load moves little, and what
lasts is followed all the same."""
_FIRST_OBSERVATIONS = 12
"""While it has seen fewer than this many, the shared factor moves faster: the depth, the load and the clock
are not what they were when the profile was stored."""


class RowCurve:
    """Seconds that a decode of n tokens takes, for n = 1, 2, ...; no shape is assumed.

    Measured row counts are interpolated linearly: between 4 and 8 a step may hide, which is why calibration
    measures 5 and 6 too. Depth, other load and clock frequency act on all row counts: they are one factor. What
    one row count deviates by itself is a factor of its own.
    """

    def __init__(self, points: Mapping[int, float]) -> None:
        """`points`: seconds by number of tokens; that of 1 must be among them."""
        if 1 not in points or any(rows < 1 or not 0 < cost < 1e6 for rows, cost in points.items()):
            raise SpecdecError(
                "a cost profile holds numbers that cannot be", hint="delete it: it is made again"
            )
        self._points = dict(sorted(points.items()))
        self._scale = 0.0
        self._observed = 0
        self._last_seen = dict.fromkeys(range(1, _TABLE), 0)
        self._build()

    def seconds(self, rows: int) -> float:
        """Seconds for `rows` tokens in one decode; 0 for none."""
        if rows < _TABLE:
            return self._table[rows] * self._factor
        return (self._table[_TABLE - 1] + (rows - _TABLE + 1) * self._slope) * self._factor

    def table(self, most: int) -> list[float]:
        """Seconds for 0, 1, ... `most` tokens."""
        factor = self._factor
        if most < _TABLE:
            return [seconds * factor for seconds in self._table[: most + 1]]
        return [self.seconds(rows) for rows in range(most + 1)]

    def observe(self, rows: int, seconds: float) -> None:
        """One decode of `rows` tokens took this long."""
        expected = self.seconds(rows)
        if rows < 1 or seconds <= 0 or expected <= 0:
            return
        deviation = max(-_CLIP, min(_CLIP, log(seconds / expected)))
        self._observed += 1
        eager = 0.5 / self._observed if self._observed < _FIRST_OBSERVATIONS else 0.0
        self._scale += max(_SHARED_GAIN, eager) * deviation
        self._factor = exp(self._scale)
        if rows < _TABLE:
            age = self._observed - self._last_seen[rows]
            own = _OWN_GAIN + _STALE_GAIN * min(1.0, age / _STALE_AFTER) ** 2
            self._table[rows] *= exp(own * deviation)
            self._last_seen[rows] = self._observed

    def scale_by(self, seconds: float, expected: float) -> None:
        """Several decodes together took `seconds` where `expected` was foreseen: only the shared factor moves."""
        if seconds > 0 and expected > 0:
            self._scale += _SHARED_GAIN * max(-_CLIP, min(_CLIP, log(seconds / expected)))
            self._factor = exp(self._scale)

    def to_json(self) -> dict[str, float]:
        """Seconds by number of tokens as they are now, at the measured row counts."""
        return {str(rows): self.seconds(rows) for rows in self._points}

    @classmethod
    def from_json(cls, document: Mapping[str, float]) -> RowCurve:
        """The inverse of `to_json`. Raises `SpecdecError` when the numbers cannot be."""
        try:
            return cls({int(rows): float(seconds) for rows, seconds in document.items()})
        except (TypeError, ValueError, AttributeError) as error:
            raise SpecdecError(
                "a cost profile is not readable", hint="delete it: it is made again"
            ) from error

    def _build(self) -> None:
        """Interpolate the measured points to a table, and find the slope beyond them."""
        rows = list(self._points)
        costs = list(self._points.values())
        # Over a wide span: two neighbouring points may lie on either side of a step.
        before = next((i for i in reversed(range(len(rows))) if rows[i] * 2 <= rows[-1]), 0)
        span = rows[-1] - rows[before]
        self._slope = max(costs[-1] - costs[before], 0.0) / span if span else costs[0]
        self._table = [0.0]
        for count in range(1, _TABLE):
            right = next((i for i, measured in enumerate(rows) if measured >= count), None)
            if right is None:
                self._table.append(costs[-1] + (count - rows[-1]) * self._slope)
            elif rows[right] == count:
                self._table.append(costs[right])
            else:
                share = (count - rows[right - 1]) / (rows[right] - rows[right - 1])
                self._table.append(costs[right - 1] + share * (costs[right] - costs[right - 1]))
        if rows[-1] >= _TABLE:
            self._slope = (costs[-1] - self._table[-1]) / (rows[-1] - _TABLE + 1)
        self._factor = exp(self._scale)


class CostProfile:
    """The target's seconds by rows in a batch, and the draft's by tokens it has to decode for one row.

    `depth`: how many positions the target's cache held when it was measured.
    """

    def __init__(self, target: RowCurve, draft: RowCurve | None = None, depth: int = 0) -> None:
        self.target = target
        self.draft = draft
        self.depth = depth

    def observe_draft(self, catch_up: int, drafted: int, seconds: float) -> None:
        """A draft of `drafted` tokens, which began with a decode of `catch_up` tokens, took `seconds`."""
        if self.draft is None or drafted < 1:
            return
        if drafted == 1:
            self.draft.observe(catch_up, seconds)
        else:
            self.draft.scale_by(seconds, self.draft.seconds(catch_up) + (drafted - 1) * self.draft.seconds(1))

    def to_json(self) -> dict[str, Any]:
        """A JSON document, with its schema number."""
        return {
            "schema": SCHEMA,
            "depth": self.depth,
            "target_seconds": self.target.to_json(),
            "draft_seconds": None if self.draft is None else self.draft.to_json(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> CostProfile:
        """The inverse of `to_json`. Raises `SpecdecError` for anything else."""
        if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
            raise SpecdecError("a cost profile has another format", hint="delete it: it is made again")
        draft = document.get("draft_seconds")
        return cls(
            RowCurve.from_json(document.get("target_seconds", {})),
            None if draft is None else RowCurve.from_json(draft),
            int(document.get("depth", 0)),
        )
