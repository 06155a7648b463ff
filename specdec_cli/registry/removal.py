"""`remove`: which files go, which stay because something else needs them, and deleting them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from specdec_cli.errors import SpecdecError
from specdec_cli.registry.catalog import Catalog, nearest
from specdec_cli.registry.records import forget_fetched
from specdec_cli.registry.resolve import Folders
from specdec_cli.registry.store import Inventory, StoredModel, StoredPair, take_inventory


@dataclass(frozen=True)
class RemovalItem:
    """One model that was asked to be removed."""

    model: StoredModel
    kept_because: str | None
    """Why it stays; None when it goes."""


@dataclass(frozen=True)
class RemovalPlan:
    """What `remove` will do."""

    items: tuple[RemovalItem, ...]

    @property
    def going(self) -> tuple[StoredModel, ...]:
        """Models whose files are deleted."""
        return tuple(item.model for item in self.items if item.kept_because is None)

    @property
    def bytes_freed(self) -> int:
        """Disk space that deleting them gives back."""
        return sum(model.bytes for model in self.going)


def plan_removal(
    names: Sequence[str], catalog: Catalog, folders: Folders | None = None, *, force: bool = False
) -> RemovalPlan:
    """Decide for pairs and models by name. Nothing is deleted yet.

    Of a pair, what another pair that is here needs too is kept. What another tool fetched is kept, and so are
    files that are the user's own or part of a Python package; `force` gives up what other tools fetched.
    Raises `SpecdecError` for a name that is not here.
    """
    inventory = take_inventory(catalog, folders)
    items: dict[Path, RemovalItem] = {}
    for name in names:
        models, pair = _named(name, catalog, inventory)
        for model in models:
            reason = _reason_to_keep(model, pair, inventory, names, force=force)
            items.setdefault(model.path, RemovalItem(model, reason))
    return RemovalPlan(tuple(items.values()))


def remove(plan: RemovalPlan, folders: Folders | None = None) -> None:
    """Delete the files of a plan. A file that cannot be deleted is an error; those before it are gone."""
    where = folders or Folders.default()
    gone: list[Path] = []
    try:
        for model in plan.going:
            for path in model.paths:
                _delete(path, where)
                gone.append(path)
    except OSError as error:
        raise SpecdecError(
            f"cannot delete {error.filename}: {error.strerror}",
            hint="is it in use by another program?",
            code="file.unwritable",
        ) from None
    finally:
        forget_fetched(gone, where.cache)


def _named(
    name: str, catalog: Catalog, inventory: Inventory
) -> tuple[tuple[StoredModel, ...], StoredPair | None]:
    """The models a name stands for, and the pair if it is one."""
    base, _, quant = name.partition(":")
    pair = next((stored for stored in inventory.pairs if stored.pair.name in (name, base)), None)
    if pair is not None:
        targets = (catalog.pair(name).target,) if quant else pair.pair.targets
        here = [inventory.by_entry[e] for e in (*targets, *pair.pair.drafts) if e in inventory.by_entry]
        if not here:
            raise SpecdecError(f"nothing of {name} is here", hint="specdec list shows what is")
        return tuple(here), pair
    found = tuple(model for model in inventory.models if name in _names_of(model))
    if not found:
        known = {label: None for model in inventory.models for label in _names_of(model)}
        near = nearest(name, {**known, **dict.fromkeys(catalog.pairs)})
        raise SpecdecError(
            f"{name} is not here", hint=f"did you mean {near}?" if near else "specdec list shows what is"
        )
    return found, None


def _names_of(model: StoredModel) -> tuple[str, ...]:
    names = [model.label, model.path.name, str(model.path)]
    if model.repo and model.file:
        names.append(f"{model.repo}/{model.file}")
    return tuple(names)


def _reason_to_keep(
    model: StoredModel, pair: StoredPair | None, inventory: Inventory, names: Sequence[str], *, force: bool
) -> str | None:
    if model.place == "package":
        return "part of a Python package"
    if model.place == "path":
        return "your own file"
    if pair is not None:
        others = [
            other.pair.name
            for other in inventory.pairs
            if other.pair.name != pair.pair.name
            and other.pair.name not in names
            and other.state == "here"
            and model.path in {found.path for found in (other.target, other.draft) if found}
        ]
        if others:
            return f"also of {', '.join(others)}"
    if not model.fetched_by_specdec and not force:
        return "fetched by another tool (--force removes it too)"
    return None


# deleting ---------------------------------------------------------------------------------------------


def _delete(path: Path, folders: Folders) -> None:
    """Delete one file; of the Hub's cache, its blob as well once no snapshot names it."""
    if not path.is_relative_to(folders.hub):
        path.unlink(missing_ok=True)
        if path.is_relative_to(folders.cache):
            _prune(path.parent, folders.cache)
        return
    repository = folders.hub / path.relative_to(folders.hub).parts[0]
    blob = path.resolve() if path.is_symlink() else None
    path.unlink(missing_ok=True)
    _prune(path.parent, repository)
    blobs = repository.resolve() / "blobs"
    if blob is not None and blob.is_relative_to(blobs) and not _is_named(blob, repository):
        blob.unlink(missing_ok=True)
    if not any(entry.is_file() or entry.is_symlink() for entry in (repository / "snapshots").rglob("*")):
        _remove_empty_repository(repository)


def _is_named(blob: Path, repository: Path) -> bool:
    """Whether a snapshot of the repository still links to the blob."""
    return any(
        entry.is_symlink() and entry.resolve() == blob for entry in (repository / "snapshots").rglob("*")
    )


def _remove_empty_repository(repository: Path) -> None:
    """Remove what is left of a repository without files: references, markers, unfinished downloads of ours."""
    for leftover in (*repository.glob("refs/*"), *repository.glob("blobs/*.specdec.incomplete")):
        leftover.unlink(missing_ok=True)
    for folder in ("refs", "blobs", "snapshots"):
        with contextlib.suppress(OSError):
            (repository / folder).rmdir()
    with contextlib.suppress(OSError):
        repository.rmdir()


def _prune(folder: Path, top: Path) -> None:
    """Remove folders that became empty, upwards, below `top`."""
    while folder != top and folder.is_relative_to(top):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
