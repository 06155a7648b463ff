"""One process at a time, by the lock files that the Hub's client uses too."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def held_lock(path: Path, note: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock inside the block; `note` hears when another process has it. A killed process lets go of it."""
    from filelock import Timeout
    from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]

    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(WeakFileLock(path, timeout=0.2))
        except Timeout:
            note("another process is downloading this file: waiting for it")
            held.enter_context(WeakFileLock(path))
        yield
