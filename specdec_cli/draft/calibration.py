"""Measure a cost profile: decode made-up tokens at the depth the caches are at, then cut back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from specdec_cli.draft.costs import CostProfile, RowCurve
from specdec_cli.errors import SpecdecError
from specdec_cli.protocols import ModelContext

_TARGET_ROWS = (1, 2, 4, 3, 8, 5, 6, 16, 12, 9, 7, 10, 24, 32, 20)
"""In order of importance, for a machine too slow to measure all of them."""
_DRAFT_TOKENS = (1, 2, 8, 32, 4, 16)
_PASSES = 4


@dataclass(frozen=True)
class CalibrationLimits:
    """How long to measure, and how many rows a round may have."""

    max_rows: int = 17
    """1 + the longest draft."""
    seconds: float = 2.0
    target_steps: float = 25.0
    """Measuring ends after `seconds`, or this many plain decodes, whichever is longer."""


def calibrate(
    target: ModelContext,
    draft: ModelContext | None,
    clock: Callable[[], float],
    limits: CalibrationLimits | None = None,
) -> CostProfile:
    """Measure what rows cost in `target` and tokens in `draft`. Both caches end as they were.

    The smallest of up to 4 passes counts: other load only ever adds. The two contexts never decode at the same
    time. Raises `SpecdecError` when a cache cannot be cut back or has no room for two tokens.
    """
    limits = limits or CalibrationLimits()
    begun = clock()
    rows = min(limits.max_rows, target.max_rows)
    probes = [_Probe(target, tuple(count for count in _TARGET_ROWS if count <= rows))]
    if draft is not None:
        probes.insert(0, _Probe(draft, _DRAFT_TOKENS, all_rows=False))
    allowed = max(limits.seconds, limits.target_steps * probes[-1].best[1])
    for _ in range(_PASSES):
        for probe in probes:
            probe.run(lambda: allowed - (clock() - begun))
    curves = [RowCurve(probe.best) for probe in probes]
    return CostProfile(curves[-1], curves[0] if draft is not None else None, target.length)


class _Probe:
    """One context, and the least seconds seen for each number of tokens."""

    def __init__(self, context: ModelContext, counts: tuple[int, ...], *, all_rows: bool = True) -> None:
        """`all_rows`: ask for a row of logits after every token, as verification does; else after the last."""
        self._context = context
        self._counts = tuple(count for count in counts if count <= context.n_ctx - context.length)
        self._all_rows = all_rows
        # The first decode after a pause pays for more than itself.
        self._measure(1)
        self.best = {1: self._measure(1)}

    def run(self, time_left: Callable[[], float]) -> None:
        """One pass over the counts that the time left allows, guessing that n tokens take n times one."""
        for count in self._counts:
            if self.best.get(count, count * self.best[1]) <= time_left():
                took = self._measure(count)
                self.best[count] = min(took, self.best.get(count, took))

    def _measure(self, count: int) -> float:
        """Seconds of one decode of `count` tokens, all different so that experts differ as in real text."""
        context = self._context
        length, before = context.length, context.seconds
        tokens = [(length * 31 + i * 7919) % context.n_vocab for i in range(count)]
        context.decode(tokens, count if self._all_rows else 1)
        took = context.seconds - before
        if not context.cut(length):
            raise SpecdecError("the model cannot drop tokens that were decoded", code="arch.no_rollback")
        return max(took, 1e-9)
