"""What specdec remembers of files: which it fetched, where to, and when each was last used.

Small JSON files in our cache folder. Losing them loses no model: what specdec fetched then looks like what
another tool did, and is kept by `remove`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from specdec_cli.registry.atomic import read_json, write_json
from specdec_cli.registry.choose import shard_names
from specdec_cli.registry.hub_cache import CachedFile


@dataclass(frozen=True)
class FetchedFile:
    """A file that `pull` brought."""

    repo: str
    file: str
    """Name inside the repository."""
    path: str
    """Where it is: in the Hub's cache (the snapshot's name for it) or in a plain folder."""
    bytes: int
    plain: bool
    """Whether it lies in a plain folder."""


def remember_fetched(files: Iterable[FetchedFile], cache: Path) -> None:
    """Note files as fetched by us."""
    known = {file.path: file for file in fetched_files(cache)}
    known.update({file.path: file for file in files})
    with contextlib.suppress(OSError):
        write_json(cache / "fetched.json", [asdict(file) for file in known.values()])


def forget_fetched(paths: Iterable[Path], cache: Path) -> None:
    """Drop files that are gone."""
    gone = {str(path) for path in paths}
    left = [asdict(file) for file in fetched_files(cache) if file.path not in gone]
    with contextlib.suppress(OSError):
        write_json(cache / "fetched.json", left)


def fetched_files(cache: Path) -> tuple[FetchedFile, ...]:
    """Everything noted, also what was deleted since."""
    entries: Any = read_json(cache / "fetched.json")
    try:
        return tuple(FetchedFile(**entry) for entry in entries)
    except TypeError:
        return ()


def plain_models(cache: Path) -> list[CachedFile]:
    """The models that `pull --dir` brought and that are still there, whole."""
    models = []
    for fetched in fetched_files(cache):
        if fetched.plain and shard_names(fetched.file)[0] == fetched.file:
            path = Path(fetched.path)
            paths = tuple(path.with_name(name) for name in shard_names(path.name))
            if all(part.is_file() for part in paths):
                models.append(CachedFile(fetched.repo, fetched.file, paths))
    return models


def mark_used(paths: Iterable[Path], cache: Path, now: float | None = None) -> None:
    """Note that these model files were loaded."""
    used = times_used(cache)
    used.update({str(path): time.time() if now is None else now for path in paths})
    with contextlib.suppress(OSError):
        write_json(cache / "used.json", used)


def times_used(cache: Path) -> dict[str, float]:
    """When each file was last loaded, in seconds since 1970."""
    entries: Any = read_json(cache / "used.json")
    if not isinstance(entries, dict):
        return {}
    return {path: float(when) for path, when in entries.items() if isinstance(when, int | float)}
