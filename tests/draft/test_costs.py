from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from specdec_cli.draft.calibration import CalibrationLimits, calibrate
from specdec_cli.draft.costs import CostProfile, RowCurve
from specdec_cli.draft.profile_store import ProfileStore, file_identity
from specdec_cli.errors import SpecdecError
from tests.support.toy import ToyContext, table_logits
from tests.support.worlds import CPU, DRAFT_CPU

STEPPED = {1: 1.0, 4: 2.5, 5: 3.8, 8: 3.7}


def test_a_curve_keeps_its_steps_and_is_straight_between_points() -> None:
    curve = RowCurve(STEPPED)
    assert [curve.seconds(n) for n in (0, 1, 4, 5, 8)] == pytest.approx([0, 1.0, 2.5, 3.8, 3.7])
    assert curve.seconds(2) == pytest.approx(1.5)
    assert curve.table(5) == pytest.approx([curve.seconds(n) for n in range(6)])
    assert curve.table(40) == pytest.approx([curve.seconds(n) for n in range(41)])


def test_beyond_the_last_point_a_curve_goes_on_rising_and_never_falls() -> None:
    curve = RowCurve(STEPPED)
    assert curve.seconds(12) == pytest.approx(3.7 + 4 * (3.7 - 2.5) / 4)
    assert curve.seconds(1000) > curve.seconds(100) > curve.seconds(12)
    falling = RowCurve({1: 5.0, 2: 4.0, 4: 3.0})
    assert falling.seconds(64) == pytest.approx(3.0)
    single = RowCurve({1: 2.0})
    assert single.seconds(3) == pytest.approx(6.0)
    long = RowCurve({1: 1.0, 16: 4.0, 128: 16.0})
    assert long.seconds(128) == pytest.approx(16.0)


@pytest.mark.parametrize("points", [{}, {2: 1.0}, {1: 0.0}, {1: -1.0}, {1: float("nan")}, {1: 1.0, 0: 1.0}])
def test_numbers_that_cannot_be_are_refused(points: dict[int, float]) -> None:
    with pytest.raises(SpecdecError):
        RowCurve(points)


def test_load_and_depth_move_the_whole_curve() -> None:
    curve = RowCurve(STEPPED)
    for _ in range(100):
        curve.observe(5, 2 * 3.8)
    assert curve.seconds(5) == pytest.approx(7.6, rel=0.02)
    assert 1.3 < curve.seconds(1) <= 2.0


def test_what_one_row_count_deviates_by_is_its_own() -> None:
    """Calibration was wrong about 3 rows only; rounds of 1 and 3 rows tell."""
    curve = RowCurve({1: 1.0, 2: 1.2, 3: 1.4, 4: 1.6})
    for _ in range(200):
        curve.observe(3, 2.8)
        curve.observe(1, 1.0)
    assert curve.seconds(3) == pytest.approx(2.8, rel=0.1)
    assert curve.seconds(1) == pytest.approx(1.0, rel=0.1)


def test_bursts_of_other_load_move_little() -> None:
    chance = random.Random(0)
    curve = RowCurve({1: 1.0, 4: 2.0})
    for _ in range(300):
        rows = chance.choice([1, 4])
        spike = 8.0 if chance.random() < 0.05 else 1.0
        curve.observe(rows, {1: 1.0, 4: 2.0}[rows] * chance.gauss(1.0, 0.05) * spike)
        assert 0.75 < curve.seconds(4) / 2.0 < 1.35
    assert curve.seconds(4) / curve.seconds(1) == pytest.approx(2.0, rel=0.15)


def test_observations_without_a_duration_are_ignored() -> None:
    curve = RowCurve(STEPPED)
    curve.observe(4, 0.0)
    curve.observe(0, 1.0)
    curve.scale_by(0.0, 1.0)
    assert curve.seconds(4) == pytest.approx(2.5)


def test_draft_observations_move_the_draft_curve_only() -> None:
    profile = CostProfile(RowCurve(STEPPED), RowCurve({1: 0.1, 8: 0.3}))
    assert profile.draft is not None
    for _ in range(100):
        profile.observe_draft(catch_up=1, drafted=4, seconds=0.8)
        profile.observe_draft(catch_up=1, drafted=1, seconds=0.2)
    assert profile.draft.seconds(1) == pytest.approx(0.2, rel=0.05)
    assert profile.target.seconds(1) == pytest.approx(1.0)
    CostProfile(RowCurve(STEPPED)).observe_draft(1, 4, 0.8)


def test_a_profile_survives_json_with_what_it_learned() -> None:
    profile = CostProfile(RowCurve(STEPPED), RowCurve({1: 0.1, 8: 0.3}), depth=77)
    profile.target.observe(4, 3.0)
    again = CostProfile.from_json(json.loads(json.dumps(profile.to_json())))
    assert again.depth == 77
    assert again.draft is not None
    assert again.target.table(16) == pytest.approx(profile.target.table(16), rel=0.05)
    assert CostProfile.from_json(CostProfile(RowCurve(STEPPED)).to_json()).draft is None


def test_the_store_finds_a_profile_only_under_the_same_circumstances(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path / "profiles")
    here = {"target": "a", "threads": 2}
    assert store.load(here) is None
    store.save(here, CostProfile(RowCurve(STEPPED)))
    loaded = store.load({"threads": 2, "target": "a"})
    assert loaded is not None
    assert loaded.target.seconds(5) == pytest.approx(3.8)
    assert store.load({**here, "threads": 3}) is None
    assert [path.suffix for path in (tmp_path / "profiles").iterdir()] == [".json"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"profile": 3}',
        '{"profile": {"schema": 99}}',
        '{"profile": {"schema": 1}}',
        '{"profile": {"schema": 1, "target_seconds": {"1": "x"}}}',
        '{"profile": {"schema": 1, "target_seconds": [1]}}',
    ],
)
def test_a_damaged_profile_is_no_profile(tmp_path: Path, content: str) -> None:
    store = ProfileStore(tmp_path)
    store.path({"a": 1}).write_text(content)
    assert store.load({"a": 1}) is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ProfileStore(tmp_path / "file").save({"a": 1}, CostProfile(RowCurve(STEPPED)))


def test_a_file_that_changed_is_another_file(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"1")
    before = file_identity(path)
    path.write_bytes(b"22")
    assert file_identity(path) != before


class TimedContext(ToyContext):
    """Takes as long as a curve says, on a clock that it shares."""

    def __init__(self, seconds_for: Callable[[int], float], clock: list[float], **options: int) -> None:
        super().__init__(table_logits(1), **options)  # type: ignore[arg-type]
        self.asked: list[tuple[int, int]] = []
        self._seconds_for = seconds_for
        self._clock = clock

    def decode(self, tokens, rows):  # type: ignore[no-untyped-def]
        logits = super().decode(tokens, rows)
        self.asked.append((len(tokens), rows))
        self.seconds += self._seconds_for(len(tokens)) - 1e-6 * len(tokens)
        self._clock[0] += self._seconds_for(len(tokens))
        return logits


def test_calibration_finds_the_curves_and_leaves_the_caches_alone() -> None:
    clock = [0.0]
    target, draft = TimedContext(CPU["F16"], clock), TimedContext(DRAFT_CPU, clock)
    target.tokens = [1, 2, 3]
    profile = calibrate(target, draft, lambda: clock[0])
    assert profile.depth == 3
    assert target.tokens == [1, 2, 3]
    assert draft.tokens == []
    assert profile.draft is not None
    for rows in (1, 2, 3, 4, 5, 6, 8, 9, 12, 16):
        assert profile.target.seconds(rows) == pytest.approx(CPU["F16"](rows), rel=1e-3)
    for tokens in (1, 2, 8, 32):
        assert profile.draft.seconds(tokens) == pytest.approx(DRAFT_CPU(tokens), rel=1e-3)
    assert all(count == rows for count, rows in target.asked)
    assert all(rows == 1 for _, rows in draft.asked)
    assert clock[0] <= 2.1


@pytest.mark.parametrize("step", [0.2, 1.0])
def test_calibration_of_a_slow_target_takes_no_longer_than_25_steps(step: float) -> None:
    clock = [0.0]
    target = TimedContext(lambda rows: step * (1 + 0.6 * (rows - 1)), clock)
    profile = calibrate(target, None, lambda: clock[0])
    assert clock[0] <= 27 * step
    assert profile.target.seconds(2) == pytest.approx(1.6 * step, rel=1e-3)
    assert profile.target.seconds(8) == pytest.approx(5.2 * step, rel=0.1)


def test_the_least_of_several_passes_counts() -> None:
    clock, chance = [0.0], random.Random(0)
    noisy = lambda rows: 0.005 * (1 + 0.2 * rows) * (4.0 if chance.random() < 0.3 else 1.0)  # noqa: E731
    profile = calibrate(TimedContext(noisy, clock), None, lambda: clock[0])
    for rows in (1, 2, 4, 8):
        assert profile.target.seconds(rows) == pytest.approx(0.005 * (1 + 0.2 * rows), rel=0.01)


def test_calibration_keeps_within_the_context_and_its_rows() -> None:
    clock = [0.0]
    target = TimedContext(lambda rows: 0.01 * rows, clock, n_ctx=10, max_rows=4)
    target.tokens = [1] * 7
    calibrate(target, None, lambda: clock[0], CalibrationLimits(max_rows=17))
    assert max(count for count, _ in target.asked) == 3


def test_calibration_refuses_a_cache_that_cannot_be_cut() -> None:
    clock = [0.0]
    target = TimedContext(lambda rows: 0.01, clock, rolls_back=False)
    target.tokens = [1]
    with pytest.raises(SpecdecError) as raised:
        calibrate(target, None, lambda: clock[0])
    assert raised.value.code == "arch.no_rollback"
