"""The cost profile for people: what rows cost here, and from which acceptance on a draft pays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from specdec_cli.bench.rig import Rig
from specdec_cli.bench.values import Placement
from specdec_cli.draft.calibration import CalibrationLimits, calibrate
from specdec_cli.draft.catalog import PLAIN
from specdec_cli.draft.costs import CostProfile

_ROOM = 64
"""Positions that stay free above the text for what the calibration decodes."""


@dataclass(frozen=True)
class ProfileRow:
    """One number of rows in a decode of the target."""

    rows: int
    seconds: float
    relative: float
    """Over one row."""
    model_pays_from: float | None
    """The chance per token, 0 … 1, at which a draft of rows − 1 tokens by the draft model is as fast as plain
    decoding; None when it never is, for one row, or without a draft model."""
    copy_pays_from: float | None
    """The same for a draft that costs nothing (n-grams)."""


def measure_profile(
    rig: Rig, placement: Placement, prompt: str, clock: Callable[[], float] = perf_counter
) -> CostProfile:
    """Calibrate at the depth of `prompt`. Both caches are left empty or as they were."""
    engine = rig.engine(placement)
    engine.use_drafter(PLAIN, fresh=True)
    target, draft = engine.session.target, engine.parts.draft_context
    tokens = rig.tokens_of(placement, prompt)
    engine.session.start(tokens[: max(2, target.n_ctx - _ROOM)])
    if draft is not None:
        draft.cut(0)
        draft.decode(tokens[: max(1, min(len(tokens), draft.n_ctx - _ROOM))], 0)
    profile = calibrate(target, draft, clock, CalibrationLimits(max_rows=target.max_rows))
    if draft is not None:
        draft.cut(0)
    return profile


def profile_rows(profile: CostProfile) -> list[ProfileRow]:
    """Every number of rows that was measured."""
    plain = profile.target.seconds(1)
    step = profile.draft.seconds(1) if profile.draft is not None else None
    table = []
    for rows in sorted(int(count) for count in profile.target.to_json()):
        seconds = profile.target.seconds(rows)
        model = None if step is None else pays_from(((rows - 1) * step + seconds) / plain, rows - 1)
        table.append(ProfileRow(rows, seconds, seconds / plain, model, pays_from(seconds / plain, rows - 1)))
    return table


def draft_steps(profile: CostProfile) -> list[tuple[int, float]]:
    """(Tokens, seconds) of the draft's decodes that were measured; empty without a draft model."""
    if profile.draft is None:
        return []
    return sorted((int(tokens), seconds) for tokens, seconds in profile.draft.to_json().items())


def pays_from(cost: float, length: int) -> float | None:
    """The chance p per token at which a draft of `length` tokens breaks even with plain decoding.

    `cost`: of the whole round, drafting included, in plain steps; it brings 1 + p + p² + … tokens. None when it
    does not pay at p = 1 either, and for a draft of no tokens.
    """
    if length < 1 or cost > length + 1:
        return None
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if sum(middle**power for power in range(length + 1)) < cost:
            low = middle
        else:
            high = middle
    return high
