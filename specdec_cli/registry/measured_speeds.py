"""Speeds that were measured on this machine, so that `check` need not predict what is known.

One JSON file, `speeds.json`, in our cache folder: `{"schema": 1, "speeds": [entry, …]}`, an entry for each pair of
files with the settings that change speed, the one written last at the end. Losing it loses nothing that the next
runs do not bring back: what cannot be understood in it is not there, and a record that cannot be written is lost.
Two processes that write at once may lose one of their records; the file stays whole.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from specdec_cli.registry.atomic import write_json
from specdec_cli.registry.folders import cache_dir
from specdec_cli.registry.past_speeds import PastBench, PastRun, PastSpeeds, summarise
from specdec_cli.settings import ContextSettings
from specdec_cli.speeds import MeasuredSpeed, Span

SCHEMA = 1
MOST_ENTRIES = 200
MOST_RUNS = 20
"""Of one entry; older ones are forgotten."""
_TOO_FAST = 1e9
"""Tokens per second that nothing reaches; an infinity among them."""

Parsed = TypeVar("Parsed")


@dataclass(frozen=True)
class SpeedKey:
    """What a measured speed holds for."""

    machine: str
    target: str
    """As `model_key` names a model with its settings."""
    draft: str | None
    """None where no draft model was loaded."""


def model_key(identity: str, settings: ContextSettings) -> str:
    """One model file, with those of its settings that change speed and that `check` knows."""
    return (
        f"{identity} kv_type={settings.kv_type} gpu_layers={settings.gpu_layers} "
        f"flash_attention={settings.flash_attention}"
    )


def record_run(key: SpeedKey, run: PastRun, folder: Path | None = None) -> None:
    """Remember an answer's speed."""
    _change(key, lambda speeds: replace(speeds, runs=(*speeds.runs, run)[-MOST_RUNS:]), folder)


def record_bench(key: SpeedKey, bench: PastBench, folder: Path | None = None) -> None:
    """Remember a bench in place of the one before. One without speed-ups does not displace one that has them."""

    def changed(speeds: PastSpeeds) -> PastSpeeds:
        before = speeds.bench
        keeps = before is not None and before.speedup is not None and bench.speedup is None
        return speeds if keeps else replace(speeds, bench=bench)

    _change(key, changed, folder)


def measured_speed(key: SpeedKey, folder: Path | None = None) -> MeasuredSpeed | None:
    """What was measured of these models here; None where plain decoding never was."""
    try:
        known = _load(_file(folder))
    except OSError:
        return None
    of_target = [
        speeds
        for other, speeds in known.items()
        if (other.machine, other.target) == (key.machine, key.target)
    ]
    return summarise(known.get(key, PastSpeeds()), of_target)


def _change(key: SpeedKey, change: Callable[[PastSpeeds], PastSpeeds], folder: Path | None) -> None:
    path = _file(folder)
    with contextlib.suppress(OSError):
        known = _load(path)
        known[key] = change(known.pop(key, PastSpeeds()))
        latest = list(known.items())[-MOST_ENTRIES:]
        write_json(path, {"schema": SCHEMA, "speeds": [_entry_document(*entry) for entry in latest]})


def _file(folder: Path | None) -> Path:
    return (folder if folder is not None else cache_dir()) / "speeds.json"


def _load(path: Path) -> dict[SpeedKey, PastSpeeds]:
    """All that can be understood, what was written last at the end.

    Raises `OSError` for a file that is there and cannot be read: it must not be taken for an empty one.
    """
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        return dict(_readable(document["speeds"], _parse_entry)) if document["schema"] == SCHEMA else {}
    except (FileNotFoundError, ValueError, TypeError, KeyError, RecursionError):
        return {}


def _readable(values: Iterable[Any], parse: Callable[[Any], Parsed]) -> Iterator[Parsed]:
    """What can be parsed; the rest was written by a later version, or by hand."""
    for value in values:
        with contextlib.suppress(TypeError, KeyError, ValueError):
            yield parse(value)


def _entry_document(key: SpeedKey, speeds: PastSpeeds) -> dict[str, Any]:
    return {
        "machine": key.machine,
        "target": key.target,
        "draft": key.draft,
        "runs": [_run_document(run) for run in speeds.runs],
        "bench": None if speeds.bench is None else _bench_document(speeds.bench),
    }


def _run_document(run: PastRun) -> dict[str, Any]:
    return {
        "plain_tps": run.plain_tps,
        "tokens_per_second": run.tokens_per_second,
        "drafter": run.drafter,
        "speculated": run.speculated,
        "tokens": run.tokens,
        "at": run.at.isoformat(timespec="seconds"),
    }


def _bench_document(bench: PastBench) -> dict[str, Any]:
    return {
        "plain_tps": bench.plain_tps,
        "speedup": None if bench.speedup is None else [bench.speedup.low, bench.speedup.high],
        "tasks": bench.tasks,
        "runs": bench.runs,
        "at": bench.at.isoformat(timespec="seconds"),
    }


def _parse_entry(stored: Any) -> tuple[SpeedKey, PastSpeeds]:
    draft, bench = stored["draft"], stored["bench"]
    key = SpeedKey(_text(stored["machine"]), _text(stored["target"]), None if draft is None else _text(draft))
    runs = tuple(_readable(stored["runs"], _parse_run))[-MOST_RUNS:]
    benches = _readable(() if bench is None else (bench,), _parse_bench)
    return key, PastSpeeds(runs, next(benches, None))


def _parse_run(stored: Any) -> PastRun:
    plain = stored["plain_tps"]
    return PastRun(
        tokens=_count(stored["tokens"]),
        tokens_per_second=_speed(stored["tokens_per_second"]),
        plain_tps=None if plain is None else _speed(plain),
        drafter=_text(stored["drafter"]),
        speculated=stored["speculated"] is True,
        at=_moment(stored["at"]),
    )


def _parse_bench(stored: Any) -> PastBench:
    speedup = None
    if stored["speedup"] is not None:
        low, high = map(_speed, stored["speedup"])
        speedup = Span(min(low, high), max(low, high))
    return PastBench(
        plain_tps=_speed(stored["plain_tps"]),
        speedup=speedup,
        tasks=_count(stored["tasks"]),
        runs=_count(stored["runs"]),
        at=_moment(stored["at"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("no count")
    return value


def _speed(value: Any) -> float:
    """A positive number. JSON as Python reads it may also hold infinities and NaN."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < _TOO_FAST:
        raise ValueError("no speed")
    return float(value)


def _moment(value: Any) -> datetime:
    at = datetime.fromisoformat(_text(value))
    if at.tzinfo is None:
        raise ValueError("no time zone")
    return at
