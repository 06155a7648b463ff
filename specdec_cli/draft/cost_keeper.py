"""Where a policy's cost profile comes from and goes to: kept from an earlier run, else measured now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter

from specdec_cli.draft.calibration import CalibrationLimits, calibrate
from specdec_cli.draft.costs import CostProfile
from specdec_cli.draft.profile_store import ProfileStore
from specdec_cli.protocols import ModelContext

_DEAREST_DRAFT = 1.25
"""A draft as large as its target costs the same; the rest is noise."""


class CostKeeper:
    """The profile for one pair under one set of circumstances."""

    def __init__(
        self,
        store: ProfileStore | None,
        circumstances: Mapping[str, object],
        max_rows: int,
        announce: Callable[[], None] = lambda: None,
    ) -> None:
        """`announce` is called before measuring, which takes some seconds. Without a store nothing is kept."""
        self._store = store
        self._circumstances = circumstances
        self._max_rows = max_rows
        self._announce = announce

    def profile(self, target: ModelContext, draft: ModelContext | None) -> CostProfile:
        """The stored profile, else a fresh measurement, which is stored. Both caches end as they were."""
        stored = self._store.load(self._circumstances) if self._store is not None else None
        if stored is not None and (draft is None or stored.draft is not None) and is_plausible(stored):
            return stored
        self._announce()
        measured = calibrate(target, draft, perf_counter, CalibrationLimits(max_rows=self._max_rows))
        self.keep(measured)
        return measured

    def keep(self, profile: CostProfile) -> None:
        """Remember what was learned."""
        if self._store is not None:
            self._store.save(self._circumstances, profile)


def is_plausible(profile: CostProfile) -> bool:
    """Whether the draft's step costs no more than the target's, give or take.

    One that does was measured while something else had the cores. Kept, it would tell the policy for good that
    drafting cannot pay, and nothing would ever be drafted to prove it wrong.
    """
    return profile.draft is None or profile.draft.seconds(1) <= _DEAREST_DRAFT * profile.target.seconds(1)
