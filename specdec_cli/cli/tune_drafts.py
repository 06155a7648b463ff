"""Which drafts of a target's family are on this machine, beside the one that a pair names first."""

from __future__ import annotations

from pathlib import Path

from specdec_cli.cli.models import ChosenModels
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.compat.compare import compare
from specdec_cli.errors import SpecdecError
from specdec_cli.gguf.reader import read_header
from specdec_cli.protocols import Backend
from specdec_cli.registry.catalog import Catalog, ModelEntry, load_catalog
from specdec_cli.registry.resolve import Folders, make_ready, resolve_entry


def other_drafts(options: EngineOptions, models: ChosenModels, backend: Backend) -> dict[str, Path]:
    """Files by reference: smaller than the target, compatible with it, here or made from what is here.

    Empty where the user named the draft himself.
    """
    if options.draft is not None:
        return {}
    catalog, folders = load_catalog(), Folders.default()
    drafts: dict[str, Path] = {}
    for entry in _family(options, models, catalog, folders):
        path = _file(entry, backend, folders)
        known = [*drafts.values(), models.target.path, *([models.draft.path] if models.draft else [])]
        if path is not None and not any(path.samefile(other) for other in known) and _fits(path, models):
            drafts[entry.label] = path
    return drafts


def _family(
    options: EngineOptions, models: ChosenModels, catalog: Catalog, folders: Folders
) -> list[ModelEntry]:
    """All drafts of the pairs of the same family; of a target alone, the family of the pairs it is in."""
    if options.pair is not None:
        families = {catalog.pair(options.pair).family}
    else:
        families = {
            pair.family
            for pair in catalog.pairs.values()
            for entry in pair.targets
            if (path := resolve_entry(entry, folders).path) is not None
            and path.is_file()
            and path.samefile(models.target.path)
        }
    entries = [
        entry
        for pair in catalog.pairs.values()
        if pair.family and pair.family in families
        for entry in pair.drafts
    ]
    return list(dict.fromkeys(entries))


def _file(entry: ModelEntry, backend: Backend, folders: Folders) -> Path | None:
    """The entry's file, made now where it can be; None where it would have to be downloaded."""
    try:
        path = make_ready(resolve_entry(entry, folders), backend.quantize, folders=folders)
    except SpecdecError:
        return None
    return path if path.is_file() else None


def _fits(path: Path, models: ChosenModels) -> bool:
    try:
        header = read_header(path)
    except SpecdecError:
        return False
    smaller = header.weight_bytes < models.target.header.weight_bytes
    findings = compare(models.target.header, header).findings
    return smaller and not any(finding.level == "error" for finding in findings)
