"""Which models --pair, --target and --draft name, resolved without a network."""

from __future__ import annotations

from specdec_cli.cli.requests import EngineOptions
from specdec_cli.errors import UsageProblem
from specdec_cli.registry.catalog import load_catalog
from specdec_cli.registry.resolve import Folders, ResolvedModel, resolve_model, resolve_pair


def resolve_references(
    options: EngineOptions, folders: Folders
) -> tuple[ResolvedModel, ResolvedModel | None]:
    """Target and draft. Raises `SpecdecError` for names that mean nothing, `UsageProblem` when there is none."""
    catalog = load_catalog()
    if options.pair is not None:
        pair = resolve_pair(options.pair, catalog, folders)
        return pair.target, pair.draft
    if options.target is None:
        raise UsageProblem(
            "no model given", hint="--pair demo needs no download; or give --target and --draft"
        )
    draft = resolve_model(options.draft, catalog, folders) if options.draft is not None else None
    return resolve_model(options.target, catalog, folders), draft
