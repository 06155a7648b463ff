"""Model files that change under a running chat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from specdec_cli.chat.ports import LoadedFile
from specdec_cli.errors import SpecdecError


def missing_files(files: Sequence[LoadedFile]) -> set[Path]:
    """Which files are gone; their weights are mapped and can still be read.

    Raises `SpecdecError` for one that changed its size: where a mapped file was cut short, reading on would
    end the process.
    """
    missing = set()
    for file in files:
        try:
            size = file.path.stat().st_size
        except OSError:
            missing.add(file.path)
            continue
        if size != file.size:
            raise SpecdecError(
                f"{file.path} was changed on disk since it was loaded", hint="/pair or /model loads it again"
            )
    return missing
