"""Models made from other models: once, atomically, remade when the model they come from changes."""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from specdec_cli.errors import SpecdecError
from specdec_cli.gguf.problems import HeaderProblem
from specdec_cli.registry.atomic import read_json, whole_file, write_json

Quantize = Callable[[Path, Path, str], None]
"""Makes a GGUF: (from this file, at this path, of this type). `specdec_cli.llama` brings it."""

_TYPE_AT_END = re.compile(r"[-.](i?q\d\w*|b?f(16|32)|mxfp4)$", re.IGNORECASE)
_REPORT_EVERY_SECONDS = 0.1


@dataclass(frozen=True)
class DeriveProgress:
    """How far the making of one file is."""

    name: str
    """Name of the file being made."""
    ftype: str
    bytes_written: int
    seconds: float
    done: bool


def derived_path(base: Path, ftype: str, cache_dir: Path) -> Path:
    """Where the file made from `base` belongs: by the content of `base`, and by the type."""
    stem = _TYPE_AT_END.sub("", base.stem)
    return cache_dir / "derived" / file_sha256(base, cache_dir)[:16] / f"{stem}-{ftype}.gguf"


def find_derived(base: Path, ftype: str, cache_dir: Path) -> Path | None:
    """The derived file if it was made already."""
    path = derived_path(base, ftype, cache_dir)
    return path if path.is_file() else None


def ensure_derived(
    base: Path,
    ftype: str,
    cache_dir: Path,
    quantize: Quantize,
    progress: Callable[[DeriveProgress], None] | None = None,
) -> Path:
    """The file of type `ftype` made from `base`; it is made now unless it is there.

    `progress` hears from another thread while the file grows. A process killed in the middle leaves nothing
    that is ever taken for a model; two processes at once end with one good file.
    """
    destination = derived_path(base, ftype, cache_dir)
    if destination.is_file():
        return destination
    try:
        with whole_file(destination) as temporary, _reporting(temporary, destination.name, ftype, progress):
            quantize(base, temporary, ftype)
            _check_is_whole_model(temporary, destination.name)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecdecError(
            f"cannot make {destination.name} in {destination.parent}: {reason}",
            hint="SPECDEC_CACHE names another folder for such files",
        ) from error
    return destination


def file_sha256(path: Path, cache_dir: Path) -> str:
    """SHA-256 of a file in hex, remembered in the cache for as long as its size and time stay the same."""
    status = path.stat()
    key, stamp = str(path.resolve()), [status.st_size, status.st_mtime_ns]
    memory = cache_dir / "identities" / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
    known = read_json(memory)
    if isinstance(known, dict) and known.get("stamp") == stamp and isinstance(known.get("sha256"), str):
        return str(known["sha256"])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with contextlib.suppress(OSError):  # A cache that cannot be written costs time, not correctness.
        write_json(memory, {"path": key, "stamp": stamp, "sha256": digest})
    return digest


def _check_is_whole_model(made: Path, name: str) -> None:
    """A header that promises more than the file holds, or none at all, is not given the model's name."""
    from specdec_cli.gguf.reader import read_header

    try:
        read_header(made)
    except HeaderProblem as problem:
        reason = problem.message.removeprefix(f"{problem.source}: ")
        raise SpecdecError(f"llama.cpp has not made {name} properly: {reason}", code=problem.code) from None


@contextlib.contextmanager
def _reporting(
    growing: Path, name: str, ftype: str, progress: Callable[[DeriveProgress], None] | None
) -> Iterator[None]:
    """Report the size of a growing file to `progress` until the block ends."""
    if progress is None:
        yield
        return
    started = time.monotonic()
    ended = threading.Event()

    def report(done: bool) -> None:
        size = growing.stat().st_size if growing.exists() else 0
        progress(DeriveProgress(name, ftype, size, time.monotonic() - started, done))

    def watch() -> None:
        while not ended.wait(_REPORT_EVERY_SECONDS):
            report(done=False)

    report(done=False)
    watcher = threading.Thread(target=watch, name="derive-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
    report(done=True)
