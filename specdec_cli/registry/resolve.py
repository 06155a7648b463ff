"""From what a person types to a file, or to what has to happen before there is one. No network here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from specdec_cli.errors import SpecdecError
from specdec_cli.registry.catalog import Catalog, ModelEntry, Pair, nearest
from specdec_cli.registry.derive import DeriveProgress, Quantize, ensure_derived, find_derived
from specdec_cli.registry.folders import cache_dir, hub_cache_dir
from specdec_cli.registry.hub_cache import find_among, find_cached
from specdec_cli.registry.records import plain_models
from specdec_cli.registry.sources import (
    DerivedSource,
    HubSource,
    PackageSource,
    PathSource,
    Source,
    find_package_file,
    parse_source,
    require_package_file,
)

Need = Literal["nothing", "derive", "download"]


@dataclass(frozen=True)
class Folders:
    """Where to look: our own cache and the Hub's."""

    cache: Path
    hub: Path

    @classmethod
    def default(cls) -> Folders:
        """By environment and system; see `specdec_cli.registry.folders`."""
        return cls(cache_dir(), hub_cache_dir())


@dataclass(frozen=True)
class ResolvedModel:
    """One model: where it is, or what it needs first."""

    reference: str
    """As typed, or as the pair names it."""
    source: Source
    path: Path | None
    """The file to load, if it is here and whole; of a split model the first part."""
    need: Need
    """What has to happen before there is a path."""
    entry: ModelEntry | None = None
    """What the catalog knows of it."""

    @property
    def remote(self) -> HubSource | None:
        """Where a header or the file can be fetched from, for a model of the Hub."""
        return self.source if isinstance(self.source, HubSource) else None


@dataclass(frozen=True)
class ResolvedPair:
    """A pair of the catalog with both models resolved."""

    pair: Pair
    target: ResolvedModel
    draft: ResolvedModel


def resolve_pair(name: str, catalog: Catalog, folders: Folders | None = None) -> ResolvedPair:
    """`NAME` or `NAME:QUANT` of the catalog. Of several targets or drafts, one that is here comes first.

    Unknown names are an error that suggests the nearest.
    """
    pair = catalog.pair(name)
    where = folders or Folders.default()
    targets = pair.targets if name in catalog.pairs else (pair.target,)
    return ResolvedPair(pair, _first_here(targets, where), _first_here(pair.drafts, where))


def _first_here(entries: Sequence[ModelEntry], folders: Folders) -> ResolvedModel:
    first = resolve_entry(entries[0], folders)
    if first.path is not None or len(entries) == 1:
        return first
    others = (resolve_entry(entry, folders) for entry in entries[1:])
    return next((model for model in others if model.path is not None), first)


def resolve_model(reference: str, catalog: Catalog, folders: Folders | None = None) -> ResolvedModel:
    """A path to a `.gguf`, `owner/repo:QUANT`, `owner/repo/file.gguf`, or a model's name in the catalog."""
    where = folders or Folders.default()
    entries = catalog.models.get(reference)
    if entries is None and ":" in reference:
        base, _, quant = reference.partition(":")
        entries = tuple(entry for entry in catalog.models.get(base, ()) if entry.quant == quant) or None
    if entries:
        return resolve_entry(entries[0], where)
    source = parse_source(reference)
    if source is None:
        raise _not_a_model(reference, catalog)
    return _resolve(reference, source, None, where)


def resolve_entry(entry: ModelEntry, folders: Folders | None = None) -> ResolvedModel:
    """One model of the catalog."""
    return _resolve(entry.label, entry.source, entry, folders or Folders.default())


def make_ready(
    model: ResolvedModel,
    quantize: Quantize,
    progress: Callable[[DeriveProgress], None] | None = None,
    folders: Folders | None = None,
) -> Path:
    """The file of a resolved model; derives it where that is all it needs.

    A model that has to be downloaded first is an error that says with which command.
    """
    if model.path is not None:
        return model.path
    if isinstance(model.source, DerivedSource):
        where = folders or Folders.default()
        base = make_ready(
            _resolve(str(model.source.base), model.source.base, None, where), quantize, progress, where
        )
        return ensure_derived(base, model.source.ftype, where.cache, quantize, progress)
    raise SpecdecError(
        f"{model.reference} is not on this machine yet",
        hint=f"specdec pull {model.source}",
        code="file.not_here",
    )


def _resolve(reference: str, source: Source, entry: ModelEntry | None, folders: Folders) -> ResolvedModel:
    path = _find(source, folders)
    if path is not None:
        return ResolvedModel(reference, source, path, "nothing", entry)
    return ResolvedModel(reference, source, None, _need(source, folders), entry)


def _find(source: Source, folders: Folders) -> Path | None:
    if isinstance(source, PathSource):
        # Whether the file is there and sound is for the reader to say, in its own words.
        return source.path
    if isinstance(source, PackageSource):
        return find_package_file(source)
    if isinstance(source, HubSource):
        cached = find_cached(source, folders.hub) or find_among(source, plain_models(folders.cache))
        return cached.path if cached else None
    base = _find(source.base, folders)
    if base is None:
        return None
    try:
        return find_derived(base, source.ftype, folders.cache)
    except OSError:
        return None


def _need(source: Source, folders: Folders) -> Need:
    """What a source without a file needs; a package that is not installed is an error at once."""
    if isinstance(source, PackageSource):
        require_package_file(source)
    if isinstance(source, DerivedSource):
        return "derive" if _find(source.base, folders) else _need(source.base, folders)
    return "download"


def _not_a_model(reference: str, catalog: Catalog) -> SpecdecError:
    if reference.partition(":")[0] in catalog.pairs:
        return SpecdecError(
            f"{reference} is a pair, not a model", hint=f"--pair {reference}", code="file.missing"
        )
    near = nearest(reference.partition(":")[0], {**catalog.models, **catalog.pairs})
    return SpecdecError(
        f"{reference!r} is no .gguf file, no owner/repo:QUANT of the Hub and no model known by name",
        hint=f"did you mean {near}?" if near else None,
        code="file.missing",
    )
