"""Files that appear whole or not at all, also when two processes write them at once or one is killed."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_PART_SUFFIX = ".part"
_ABANDONED_AFTER_SECONDS = 3600.0
"""A temporary file nobody has written to for this long belongs to a process that was killed."""


@contextlib.contextmanager
def whole_file(destination: Path, *, durable: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside `destination`, which takes its place when the block ends without error.

    Whoever comes first wins where the system refuses to replace a file in use (Windows); both then end with
    one good file, since what is written is the same. `durable` waits until the bytes are on the disk: without
    it a power cut can leave the new name on an empty file.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(destination)
    temporary = destination.with_name(
        f".{destination.name}.{os.getpid()}-{os.urandom(4).hex()}{_PART_SUFFIX}"
    )
    try:
        yield temporary
        if durable:
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
        try:
            temporary.replace(destination)
        except PermissionError:
            if not destination.is_file():
                raise
    finally:
        temporary.unlink(missing_ok=True)


def write_json(destination: Path, value: Any) -> None:
    """Write a small JSON file atomically; what it holds can be found out again."""
    with whole_file(destination, durable=False) as temporary:
        temporary.write_text(json.dumps(value, indent=1), encoding="utf-8")


def read_json(path: Path) -> Any:
    """The value of a JSON file; None where there is none or it cannot be understood."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _remove_abandoned(destination: Path) -> None:
    now = time.time()
    for leftover in destination.parent.glob(f".{destination.name}.*{_PART_SUFFIX}"):
        with contextlib.suppress(OSError):
            if now - leftover.stat().st_mtime > _ABANDONED_AFTER_SECONDS:
                leftover.unlink()
