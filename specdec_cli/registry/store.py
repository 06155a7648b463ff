"""What is on this machine: models, whoever fetched them, and the catalog's pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from specdec_cli.registry.catalog import Catalog, ModelEntry, Pair
from specdec_cli.registry.choose import choose_file, quant_of_name, shard_names
from specdec_cli.registry.derive import find_derived
from specdec_cli.registry.hub_cache import CachedFile, cached_models
from specdec_cli.registry.records import fetched_files, plain_models, times_used
from specdec_cli.registry.resolve import Folders
from specdec_cli.registry.sources import (
    DerivedSource,
    HubSource,
    PackageSource,
    PathSource,
    Source,
    find_package_file,
)

Place = Literal["hub", "folder", "derived", "package", "path"]
"""In the Hub's cache, in a folder given by `--dir`, made by us, inside a Python package, the user's own."""


@dataclass(frozen=True)
class StoredModel:
    """A model that is here, whole."""

    label: str
    """How a person refers to it: `owner/repo:Q4_K_M`, `owner/repo/file.gguf`, or its file's name."""
    place: Place
    paths: tuple[Path, ...]
    """Every part, in order."""
    bytes: int
    """On disk, all parts."""
    last_used: float | None
    """Seconds since 1970; None when specdec never loaded it."""
    fetched_by_specdec: bool = False
    repo: str | None = None
    file: str | None = None
    """Name inside the repository, of the first part."""
    pairs: tuple[str, ...] = ()
    """Pairs of the catalog that it is a target or a draft of."""

    @property
    def path(self) -> Path:
        """The file to load."""
        return self.paths[0]


@dataclass(frozen=True)
class StoredPair:
    """A pair of the catalog and what of it is here: of several targets or drafts the first that is."""

    pair: Pair
    target_entry: ModelEntry
    draft_entry: ModelEntry
    target: StoredModel | None
    draft: StoredModel | None

    @property
    def state(self) -> Literal["here", "made on first use", "partly here", "not here"]:
        """In words; a derived model counts as here once its base is."""
        here = [model is not None for model in (self.target, self.draft)]
        if all(here):
            return "here"
        entries = (self.target_entry, self.draft_entry)
        if all(found or _can_be_made(entry.source) for found, entry in zip(here, entries, strict=True)):
            return "made on first use"
        return "partly here" if any(here) else "not here"

    @property
    def bytes_here(self) -> int:
        """On disk."""
        return sum(model.bytes for model in {self.target, self.draft} if model is not None)

    @property
    def bytes_missing(self) -> int | None:
        """To download, as the catalog states it; None when it does not."""
        sizes = [
            entry.bytes
            for entry, model in ((self.target_entry, self.target), (self.draft_entry, self.draft))
            if model is None and isinstance(entry.source, HubSource)
        ]
        return None if None in sizes else sum(size for size in sizes if size is not None)


@dataclass(frozen=True)
class Inventory:
    """Everything `list` shows."""

    pairs: tuple[StoredPair, ...]
    models: tuple[StoredModel, ...]
    """Every model here, also those of no pair."""
    by_entry: Mapping[ModelEntry, StoredModel]
    """The catalog's models that are here."""


def take_inventory(catalog: Catalog, folders: Folders | None = None) -> Inventory:
    """Look at the caches and match them with the catalog. Reads names and sizes, no model."""
    where = folders or Folders.default()
    shelf = _Shelf(where)
    found: dict[ModelEntry, StoredModel] = {}
    users: dict[Path, list[str]] = {}
    for pair in catalog.pairs.values():
        for entry in (*pair.targets, *pair.drafts):
            model = shelf.find(entry.source)
            if model is not None:
                found[entry] = model
                users.setdefault(model.path, []).append(pair.name)

    def with_pairs(model: StoredModel) -> StoredModel:
        return replace(model, pairs=tuple(dict.fromkeys(users.get(model.path, ()))))

    by_entry = {entry: with_pairs(model) for entry, model in found.items()}
    return Inventory(
        pairs=tuple(_stored_pair(pair, by_entry) for pair in catalog.pairs.values()),
        models=tuple(with_pairs(model) for model in shelf.models()),
        by_entry=by_entry,
    )


def _stored_pair(pair: Pair, here: Mapping[ModelEntry, StoredModel]) -> StoredPair:
    target = next((entry for entry in pair.targets if entry in here), pair.target)
    draft = next((entry for entry in pair.drafts if entry in here), pair.draft)
    return StoredPair(pair, target, draft, here.get(target), here.get(draft))


def _can_be_made(source: Source) -> bool:
    """Whether a model that is not here comes into being without a download."""
    if not isinstance(source, DerivedSource):
        return False
    base = source.base
    if isinstance(base, PackageSource):
        return find_package_file(base) is not None
    return base.path.is_file() if isinstance(base, PathSource) else _can_be_made(base)


class _Shelf:
    """The models of all caches, looked at once, found by source."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._used = times_used(folders.cache)
        self._fetched = {file.path for file in fetched_files(folders.cache)}
        self._of_hub: dict[str, list[StoredModel]] = {}
        found: tuple[tuple[Place, list[CachedFile]], ...] = (
            ("hub", cached_models(folders.hub)),
            ("folder", plain_models(folders.cache)),
        )
        for place, files in found:
            for file in files:
                model = self._stored(_label(file.repo, file.file), place, file.paths)
                model = replace(model, repo=file.repo, file=file.file)
                self._of_hub.setdefault(file.repo, []).append(model)
        self._others: dict[Path, StoredModel] = {}

    def models(self) -> list[StoredModel]:
        """All of them; complete after `find` was asked for every source of the catalog."""
        return [*(model for models in self._of_hub.values() for model in models), *self._others.values()]

    def find(self, source: Source) -> StoredModel | None:
        """The model a source means, if it is here."""
        if isinstance(source, HubSource):
            models = self._of_hub.get(source.repo, [])
            names = [model.file or "" for model in models]
            wanted = shard_names(source.file)[0] if source.file else choose_file(names, source.quant)
            return next((model for model in models if model.file == wanted), None)
        path, place = self._local(source)
        if path is None or not path.is_file():
            return None
        if path not in self._others:
            self._others[path] = self._stored(path.name, place, (path,))
        return self._others[path]

    def _local(self, source: Source) -> tuple[Path | None, Place]:
        if isinstance(source, PathSource):
            return source.path, "path"
        if isinstance(source, PackageSource):
            return find_package_file(source), "package"
        if isinstance(source, HubSource):
            model = self.find(source)
            return (model.path if model else None), "hub"
        base, _place = self._local(source.base)
        made = find_derived(base, source.ftype, self._folders.cache) if base and base.is_file() else None
        return made, "derived"

    def _stored(self, label: str, place: Place, paths: tuple[Path, ...]) -> StoredModel:
        return StoredModel(
            label=label,
            place=place,
            paths=paths,
            bytes=sum(path.stat().st_size for path in paths),
            last_used=max((self._used[str(path)] for path in paths if str(path) in self._used), default=None),
            fetched_by_specdec=place == "derived" or all(str(path) in self._fetched for path in paths),
        )


def _label(repo: str, file: str) -> str:
    quant = quant_of_name(file)
    return f"{repo}:{quant}" if quant else f"{repo}/{file}"
