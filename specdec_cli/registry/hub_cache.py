"""Looking into the Hub's ordinary cache without its client and without a network.

The layout is the client's public one: `models--owner--name/refs/main` names a commit, `snapshots/<commit>/`
holds the files of that commit as links to `blobs/<etag>`. The client moves a file there only when it is
whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from specdec_cli.registry.choose import choose_file, shard_names
from specdec_cli.registry.sources import HubSource


@dataclass(frozen=True)
class CachedFile:
    """A model of the Hub that is here, whole: its first (or only) file, and all of them."""

    repo: str
    file: str
    """Name inside the repository."""
    paths: tuple[Path, ...]
    """Every part, in order; one for a model in one file."""

    @property
    def path(self) -> Path:
        """The file to load: the first part."""
        return self.paths[0]

    @property
    def bytes(self) -> int:
        """Size of all parts."""
        return sum(path.stat().st_size for path in self.paths)


def repository_folder(cache: Path, repo: str) -> Path:
    """Where the Hub's cache keeps a model repository."""
    return cache / f"models--{repo.replace('/', '--')}"


def snapshots_newest_first(folder: Path) -> list[Path]:
    """The snapshot `main` points to, then the others by age."""
    root = folder / "snapshots"
    try:
        snapshots = sorted(root.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return []
    try:
        main = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        main = ""
    return sorted(snapshots, key=lambda path: path.name != main)


def find_cached(source: HubSource, cache: Path) -> CachedFile | None:
    """The model in the Hub's cache, if all of its parts are; the commit of `main` first."""
    for snapshot in snapshots_newest_first(repository_folder(cache, source.repo)):
        file = source.file or choose_file(_gguf_names(snapshot), source.quant)
        if file is None:
            continue
        paths = tuple(snapshot / name for name in shard_names(file))
        if all(path.is_file() for path in paths):
            return CachedFile(source.repo, shard_names(file)[0], paths)
    return None


def find_among(source: HubSource, models: Sequence[CachedFile]) -> CachedFile | None:
    """The model that a reference means among those that are here."""
    names = [model.file for model in models if model.repo == source.repo]
    wanted = shard_names(source.file)[0] if source.file else choose_file(names, source.quant)
    return next((model for model in models if (model.repo, model.file) == (source.repo, wanted)), None)


def cached_models(cache: Path) -> list[CachedFile]:
    """Every whole GGUF model in the Hub's cache, whoever fetched it; of each file the newest commit's."""
    found: dict[tuple[str, str], CachedFile] = {}
    try:
        folders = sorted(path for path in cache.iterdir() if path.name.startswith("models--"))
    except OSError:
        return []
    for folder in folders:
        repo = folder.name.removeprefix("models--").replace("--", "/", 1)
        for snapshot in snapshots_newest_first(folder):
            for name in _gguf_names(snapshot):
                shards = shard_names(name)
                paths = tuple(snapshot / shard for shard in shards)
                if (repo, shards[0]) not in found and all(path.is_file() for path in paths):
                    found[repo, shards[0]] = CachedFile(repo, shards[0], paths)
    return list(found.values())


def _gguf_names(snapshot: Path) -> list[str]:
    """Names of the snapshot's GGUF files relative to it, in the Hub's own (alphabetical) order."""
    return sorted(
        path.relative_to(snapshot).as_posix() for path in snapshot.rglob("*.gguf") if path.is_file()
    )
