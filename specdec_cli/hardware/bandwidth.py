"""How fast this machine reads its memory: a short measurement, kept per machine.

All usable cores sum a buffer twice as large as the last cache, for a fifth of a second. The best pass counts: a
slower one was disturbed. Prediction uses it as the rate at which weights can be read.
"""

from __future__ import annotations

import json
import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import numpy as np

_LEAST_BYTES = 64 << 20
_MOST_BYTES = 256 << 20
_CHUNK_BYTES = 4 << 20
_PHASE_SECONDS = 0.2
"""Both for filling the buffer (the first touch of a page is slow) and for reading it."""
_MOST_THREADS = 16
_SCHEMA = 1


def memory_bandwidth(
    cores: int, total_memory: int, cache_file: Path | None, *, again: bool = False
) -> float | None:
    """Bytes per second. From `cache_file` if it was measured there before on a machine like this one.

    With `again` it is measured anyway, and the better of the two is kept: a busy machine measures low. None
    when there is no memory to measure with. A cache file that cannot be read is measured anew, one that
    cannot be written is not missed.
    """
    machine = f"{platform.node()} {platform.machine()} {platform.processor()} {cores} {total_memory >> 28}"
    known = _read(cache_file)
    if machine in known and not again:
        return known[machine]
    measured = measure_bandwidth(cores)
    if measured is None:
        return known.get(machine)
    best = max(measured, known.get(machine, 0.0))
    _write(cache_file, {**known, machine: best})
    return best


def measure_bandwidth(cores: int, *, seconds: float = 2 * _PHASE_SECONDS) -> float | None:
    """Bytes per second that `cores` threads read together; None when there is no memory for a buffer.

    Half of `seconds` goes into filling the buffer, which stays smaller where that is not enough.
    """
    started = perf_counter()
    try:
        buffer = np.empty(_buffer_bytes() // 8, dtype=np.int64)
    except MemoryError:
        return None
    filled = 0
    while filled < len(buffer) and (not filled or perf_counter() - started < seconds / 2):
        buffer[filled : filled + _CHUNK_BYTES // 8] = 1
        filled += _CHUNK_BYTES // 8
    buffer = buffer[:filled]
    threads = max(1, min(cores, _MOST_THREADS))
    slices = np.array_split(buffer, threads)
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        while not best or perf_counter() - started < seconds:
            pass_started = perf_counter()
            list(pool.map(np.add.reduce, slices))
            best = max(best, buffer.nbytes / (perf_counter() - pass_started))
    return best


def _buffer_bytes() -> int:
    """Twice the last-level cache, where the system tells its size."""
    try:
        text = Path("/sys/devices/system/cpu/cpu0/cache/index3/size").read_text(encoding="ascii").strip()
        cache = int(text.removesuffix("K")) << 10
    except (OSError, ValueError):
        cache = 0
    return max(_LEAST_BYTES, min(2 * cache, _MOST_BYTES))


def _read(cache_file: Path | None) -> dict[str, float]:
    if cache_file is None:
        return {}
    try:
        content = json.loads(cache_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict) or content.get("schema") != _SCHEMA:
        return {}
    entries = content.get("bytes_per_second")
    if not isinstance(entries, dict):
        return {}
    return {
        key: float(value) for key, value in entries.items() if isinstance(value, int | float) and value > 0
    }


def _write(cache_file: Path | None, entries: dict[str, float]) -> None:
    if cache_file is None:
        return
    try:
        cache_file.parent.mkdir(parents=True, exist_ok=True)
        temporary = cache_file.with_suffix(".tmp")
        temporary.write_text(json.dumps({"schema": _SCHEMA, "bytes_per_second": entries}), encoding="utf-8")
        temporary.replace(cache_file)
    except OSError:
        return
