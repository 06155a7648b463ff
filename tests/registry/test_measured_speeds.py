"""Measured speeds on disk: what several measurements come to, and a file that nothing can break or blow up."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from specdec_cli.registry.measured_speeds import (
    MOST_ENTRIES,
    MOST_RUNS,
    SpeedKey,
    measured_speed,
    model_key,
    record_bench,
    record_run,
)
from specdec_cli.registry.past_speeds import PastBench, PastRun
from specdec_cli.settings import ContextSettings
from specdec_cli.speeds import MeasuredDrafting, MeasuredSpeed, Span

PAIR = SpeedKey("here", "target.gguf", "draft.gguf")
ALONE = SpeedKey("here", "target.gguf", None)
DAY = datetime(2026, 11, 27, 12, tzinfo=UTC)


def run(speed: float = 20.0, plain: float | None = None, day: int = 0, **changes: Any) -> PastRun:
    """A plain answer; one that was drafted where `plain` is given."""
    speculated = plain is not None
    return PastRun(
        tokens=changes.pop("tokens", 40),
        tokens_per_second=speed,
        plain_tps=changes.pop("plain_tps", plain if speculated else speed),
        drafter=changes.pop("drafter", "auto" if speculated else "none"),
        speculated=speculated,
        at=DAY + timedelta(days=day),
    )


def bench(plain: float = 20.0, speedup: Span | None = None, day: int = 0) -> PastBench:
    return PastBench(plain, speedup, tasks=6, runs=3, at=DAY + timedelta(days=day))


def test_nothing_measured_is_nothing_known(own_folders: Path) -> None:
    assert measured_speed(PAIR) is None
    assert not (own_folders / "cache").exists()


def test_plain_runs_of_the_target_count_whatever_the_draft(own_folders: Path) -> None:
    for day, speed in enumerate((19.0, 30.0, 21.0)):
        record_run(ALONE, run(speed, day=day))
    assert (own_folders / "cache" / "speeds.json").is_file()
    expected = MeasuredSpeed(21.0, "measured here in 3 runs, the last on 2026-11-29")
    assert measured_speed(ALONE) == expected
    assert measured_speed(PAIR) == expected
    assert measured_speed(SpeedKey("here", "other.gguf", None)) is None
    assert measured_speed(SpeedKey("there", "target.gguf", None)) is None


def test_runs_with_drafts_give_a_range(tmp_path: Path) -> None:
    record_run(PAIR, run(30.0, 20.0), tmp_path)
    assert measured_speed(PAIR, tmp_path) == MeasuredSpeed(
        20.0,
        "measured here in 1 run, on 2026-11-27",
        MeasuredDrafting(Span(30.0, 30.0), Span(1.5, 1.5), "measured here in 1 run, on 2026-11-27"),
    )
    record_run(PAIR, run(44.0, 22.0, day=1), tmp_path)
    record_run(ALONE, run(21.0, day=2), tmp_path)
    known = measured_speed(PAIR, tmp_path)
    assert known is not None
    assert known.plain_tps == 21.0
    assert known.drafting == MeasuredDrafting(
        Span(30.0, 44.0),
        Span(1.5, 2.0),
        "measured here in 3 runs, 2 of them with drafts, the last on 2026-11-29",
    )
    alone = measured_speed(ALONE, tmp_path)
    assert alone is not None
    assert alone.drafting is None
    assert alone.plain_tps == 21.0


def test_runs_of_which_plain_decoding_is_unknown_say_nothing(tmp_path: Path) -> None:
    record_run(PAIR, run(50.0, 1.0, plain_tps=None, drafter="model"), tmp_path)
    assert measured_speed(PAIR, tmp_path) is None


def test_a_bench_goes_before_runs(tmp_path: Path) -> None:
    record_run(PAIR, run(90.0, 10.0, day=2), tmp_path)
    record_bench(PAIR, bench(20.0, Span(1.25, 2.0)), tmp_path)
    basis = "measured here: bench of 2026-11-27, 6 tasks × 3 runs"
    expected = MeasuredSpeed(20.0, basis, MeasuredDrafting(Span(25.0, 40.0), Span(1.25, 2.0), basis))
    assert measured_speed(PAIR, tmp_path) == expected
    record_bench(PAIR, bench(99.0, None, day=1), tmp_path)
    assert measured_speed(PAIR, tmp_path) == expected  # a bench without auto does not take its figures away
    record_bench(PAIR, bench(10.0, Span(1.0, 1.0), day=2), tmp_path)
    known = measured_speed(PAIR, tmp_path)
    assert known is not None
    assert known.plain_tps == 10.0


def test_a_bench_of_plain_decoding_and_runs_with_drafts(tmp_path: Path) -> None:
    record_bench(ALONE, bench(20.0), tmp_path)
    plain = MeasuredSpeed(20.0, "measured here: bench of 2026-11-27, 6 tasks × 3 runs")
    assert measured_speed(PAIR, tmp_path) == plain
    record_run(PAIR, run(30.0, 25.0, day=1), tmp_path)
    known = measured_speed(PAIR, tmp_path)
    assert known is not None
    assert known.drafting == MeasuredDrafting(
        Span(30.0, 30.0),
        Span(1.2, 1.2),
        "measured here: plain in the bench of 2026-11-27, with drafts in 1 run, on 2026-11-28",
    )


@pytest.mark.parametrize("change", [{"kv_type": "q8_0"}, {"gpu_layers": 3}, {"flash_attention": "off"}])
def test_settings_that_change_speed_are_part_of_the_key(change: dict[str, Any]) -> None:
    assert model_key("m.gguf", ContextSettings(**change)) != model_key("m.gguf", ContextSettings())
    same = ContextSettings(n_ctx=64, threads=7, memory_map=False)
    assert model_key("m.gguf", same) == model_key("m.gguf", ContextSettings())


BROKEN = [
    b"",
    b"mine",
    b"[]",
    b"3",
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b'{"schema": 2, "speeds": []}',
    b'{"schema": 1}',
    b'{"schema": 1, "speeds": 3}',
    b'{"schema": 1, "speeds": {"a": 1}}',
    b'{"schema": 1, "speeds": [null, 3, "x", {}, {"machine": 3}]}',
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_file_that_cannot_be_understood_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "speeds.json").write_bytes(content)
    assert measured_speed(PAIR, tmp_path) is None
    record_run(PAIR, run(), tmp_path)
    assert measured_speed(PAIR, tmp_path) is not None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("plain_tps", "fast"),
        ("plain_tps", True),
        ("plain_tps", -1),
        ("plain_tps", float("nan")),
        ("plain_tps", float("inf")),
        ("tokens_per_second", 0),
        ("tokens_per_second", None),
        ("tokens", 2.5),
        ("at", "yesterday"),
        ("at", "2026-11-29T10:00:00"),
        ("at", 3),
        ("drafter", []),
    ],
)
def test_a_run_with_nonsense_in_it_is_passed_over(tmp_path: Path, field: str, value: object) -> None:
    record_run(ALONE, run(10.0), tmp_path)
    record_run(ALONE, run(30.0), tmp_path)
    path = tmp_path / "speeds.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["speeds"][0]["runs"][0] |= {field: value, "from_the_future": 1}
    path.write_text(json.dumps(document), encoding="utf-8")
    known = measured_speed(ALONE, tmp_path)
    assert known is not None
    assert known.plain_tps == 30.0
    assert "1 run" in known.basis


@pytest.mark.parametrize("value", [3, {}, {"plain_tps": 1}, [1, 2]])
def test_a_bench_with_nonsense_in_it_leaves_the_runs(tmp_path: Path, value: object) -> None:
    record_run(ALONE, run(30.0), tmp_path)
    path = tmp_path / "speeds.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["speeds"][0]["bench"] = value
    path.write_text(json.dumps(document), encoding="utf-8")
    known = measured_speed(ALONE, tmp_path)
    assert known is not None
    assert known.plain_tps == 30.0


def test_the_file_is_bounded_and_what_is_used_stays(tmp_path: Path) -> None:
    for count in range(MOST_RUNS + 5):
        record_run(ALONE, run(100.0 if count < 5 else 10.0), tmp_path)
    known = measured_speed(ALONE, tmp_path)
    assert known is not None
    assert f"in {MOST_RUNS} runs" in known.basis
    for count in range(MOST_ENTRIES + 3):
        record_run(SpeedKey("here", f"model {count}", None), run(), tmp_path)
        if count == 50:
            record_run(ALONE, run(10.0), tmp_path)
    entries = json.loads((tmp_path / "speeds.json").read_text(encoding="utf-8"))["speeds"]
    assert len(entries) == MOST_ENTRIES
    assert measured_speed(ALONE, tmp_path) is not None
    assert measured_speed(SpeedKey("here", "model 0", None), tmp_path) is None


def test_a_folder_that_cannot_be_written_loses_the_record_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    record_run(PAIR, run(), tmp_path / "file" / "folder")
    (tmp_path / "speeds.json").mkdir()
    record_bench(PAIR, bench(), tmp_path)
    assert measured_speed(PAIR, tmp_path) is None
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def _record_many(folder: Path, name: str) -> None:
    for _ in range(40):
        record_run(SpeedKey("here", name, None), run(), folder)


def test_two_processes_that_write_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    record_run(ALONE, run(), tmp_path)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_record_many, args=(tmp_path, name)) for name in ("a", "b")]
    for writer in writers:
        writer.start()
    seen = 0
    while any(writer.is_alive() for writer in writers):
        with contextlib.suppress(PermissionError):  # Windows, while the file is being replaced
            document = json.loads((tmp_path / "speeds.json").read_text(encoding="utf-8"))
            assert document["schema"] == 1
            seen += 1
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert seen
    assert measured_speed(ALONE, tmp_path) is not None
    assert {path.name for path in tmp_path.iterdir()} == {"speeds.json"}
