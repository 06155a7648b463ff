"""When to try again something that did not pay: rarely, ever more rarely, and within a budget."""

from __future__ import annotations

_TRIALS = 3
"""The first probes follow one another: a guess about an unknown draft model is replaced by a first impression."""
_FIRST_INTERVAL = 4
_LONGEST_INTERVAL = 128
_SHARE = 0.012
"""Of the generation's time, what probing may lose in the long run."""
_SHARE_OF_GAIN = 0.12
"""Of the time that this drafter saved before, what probing it again may lose in addition."""
_ADVANCE = 1.0
"""Plain steps that may be lost before any time has gone by: what a short answer can bear."""


class ProbeSchedule:
    """Decides in which rounds to draft although it does not seem to pay.

    After a probe that promised nothing the interval doubles. After one that did, the next round probes again, so
    that a change of the text is followed within a few rounds. What probes lost is accounted for against the time
    that went by, and what they gained pays for more of them.
    """

    def __init__(self) -> None:
        self._interval = 0
        self._waited = 0
        self._spent = 0.0
        self._elapsed = 0.0
        self._saved = 0.0
        self.probes = 0

    def pass_round(self, seconds: float) -> None:
        """A round went by, which took this long."""
        self._elapsed += seconds
        self._waited += 1

    def is_due(self, cost: float, plain_step: float) -> bool:
        """Whether to probe in this round, at the price of `cost` seconds in the worst case."""
        allowed = _SHARE * self._elapsed + _SHARE_OF_GAIN * self._saved + _ADVANCE * plain_step
        return self._waited >= self._interval and self._spent + cost <= allowed

    def probed(self, lost_seconds: float, promising: bool) -> None:
        """A probe is over. `lost_seconds` against plain decoding; negative when it gained."""
        self.probes += 1
        self._spent = max(self._spent + lost_seconds, -_SHARE * self._elapsed)
        self._waited = 0
        if promising or self.probes < _TRIALS:
            self._interval = 0
        else:
            self._interval = min(max(2 * self._interval, _FIRST_INTERVAL), _LONGEST_INTERVAL)

    def drafted(self, saved_seconds: float) -> None:
        """A draft that was expected to pay did so by this much. The next pause begins with short intervals."""
        self._saved = max(0.0, self._saved + saved_seconds)
        self._interval = _FIRST_INTERVAL
        self._waited = 0
