"""What `specdec pull` does once its options are values: resolve, ask the Hub, check, make room, download."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from specdec_cli.cli.check_service import CheckOptions, check_pair
from specdec_cli.cli.environment import Environment
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.errors import SpecdecError
from specdec_cli.registry.catalog import Catalog, load_catalog
from specdec_cli.registry.choose import shard_names
from specdec_cli.registry.download import DownloadPlan, check_space, download, plan_download
from specdec_cli.registry.hub import HubClient
from specdec_cli.registry.remote_files import RemoteFile, RemoteModel, is_offline
from specdec_cli.registry.resolve import Folders, ResolvedModel, resolve_model, resolve_pair
from specdec_cli.registry.sources import DerivedSource, HubSource, PathSource, Source
from specdec_cli.registry.ungated import ungated_alternative
from specdec_cli.ui.console import Printer
from specdec_cli.ui.pull_view import downloading, print_pulled

SCHEMA = 1
UNREACHABLE = frozenset({"file.offline", "file.rate_limited", "file.hub_unreachable", "file.hub_answer"})
_OF_NO_REPOSITORY = frozenset({"file.rate_limited", "file.hub_unreachable"})
"""What a Hub that does not answer for one model does not answer for the next one either."""


@dataclass(frozen=True)
class PullOptions:
    """What `pull` takes beside the names."""

    directory: Path | None = None
    ctx: int | None = None
    force: bool = False
    offline: bool = False
    json: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class _Wanted:
    """One thing that was asked for: how `check` would be asked for it, and its models."""

    name: str
    check: EngineOptions
    models: tuple[ResolvedModel, ...]


def pull_models(environment: Environment, references: Sequence[str], options: PullOptions) -> int:
    """Download everything that is named; returns the exit code. Raises `SpecdecError` before anything is fetched
    when a name is unknown, the check fails (unless forced) or the disk is too small."""
    printer = Printer(environment.stderr, quiet=options.quiet or options.json)
    catalog, folders = load_catalog(), Folders.default()
    wanted = [_wanted(reference, catalog, folders, options) for reference in references]
    client = HubClient(
        offline=is_offline(options.offline),
        note=lambda text: printer.line(text, "dim"),
        suggest_ungated=lambda repo: ungated_alternative(repo, catalog),
    )
    remotes, cached = _ask_the_hub(wanted, client, printer)
    for thing in wanted:
        if any(model.remote is not None and model.path is None for model in thing.models):
            _check(environment, thing, options, printer)
    plan = plan_download(remotes, folders.hub, options.directory)
    check_space(plan)
    _download(plan, client, printer)
    _report(environment, printer, wanted, plan, cached, options)
    return 0


def _wanted(reference: str, catalog: Catalog, folders: Folders, options: PullOptions) -> _Wanted:
    """A pair of the catalog first, a model otherwise."""
    context = EngineOptions(ctx=options.ctx)
    if reference in catalog.pairs or reference.partition(":")[0] in catalog.pairs:
        pair = resolve_pair(reference, catalog, folders)
        return _Wanted(reference, replace(context, pair=reference), (pair.target, pair.draft))
    if "/" not in reference and not reference.endswith(".gguf") and not _is_model(reference, catalog):
        catalog.pair(reference)  # raises, with the nearest name
    model = resolve_model(reference, catalog, folders)
    if isinstance(model.source, PathSource) and not model.source.path.exists():
        raise SpecdecError(f"{model.source.path}: no such file", code="file.missing")
    return _Wanted(reference, replace(context, target=reference), (model,))


def _is_model(reference: str, catalog: Catalog) -> bool:
    return reference in catalog.models or reference.partition(":")[0] in catalog.models


def _hub_source(source: Source) -> HubSource | None:
    """What has to be fetched for a model, its base included."""
    if isinstance(source, DerivedSource):
        return _hub_source(source.base)
    return source if isinstance(source, HubSource) else None


def _ask_the_hub(
    wanted: Sequence[_Wanted], client: HubClient, printer: Printer
) -> tuple[list[RemoteModel], list[Path]]:
    """(What the Hub says of each model of its own, files that serve because it cannot be asked)."""
    remotes: dict[HubSource, RemoteModel] = {}
    cached = []
    silence: SpecdecError | None = None
    for model in (model for thing in wanted for model in thing.models):
        source = _hub_source(model.source)
        if source is None or source in remotes:
            continue
        try:
            if silence is not None:
                raise silence
            remotes[source] = client.locate(source)
        except SpecdecError as error:
            silence = error if error.code in _OF_NO_REPOSITORY else None
            # A model that is here must not become unusable because the Hub cannot be asked.
            if error.code not in UNREACHABLE or model.path is None:
                raise
            reason = "offline" if error.code == "file.offline" else error.message
            printer.line(f"{reason}: the copy of {source} that is here is used", "yellow")
            cached.append(model.path)
    return list(remotes.values()), cached


def _check(environment: Environment, thing: _Wanted, options: PullOptions, printer: Printer) -> None:
    """Compatibility and memory by the headers alone; refuses in `check`'s words."""
    report = check_pair(environment, thing.check, CheckOptions(offline=options.offline), printer)
    refusal = report.refusal(force=options.force)
    if refusal is not None:
        raise SpecdecError(f"{thing.name}: {refusal.message}", hint=refusal.hint, code=refusal.code) from None
    for finding in report.findings:
        if finding.level != "info":
            printer.finding(finding)


def _download(plan: DownloadPlan, client: HubClient, printer: Printer) -> None:
    try:
        with downloading(plan, printer) as report:
            download(plan, client, report)
    except KeyboardInterrupt:
        printer.line("interrupted; what was received is kept, the same command goes on from there")
        raise


def _report(
    environment: Environment,
    printer: Printer,
    wanted: Sequence[_Wanted],
    plan: DownloadPlan,
    cached: Sequence[Path],
    options: PullOptions,
) -> None:
    nothing_to_fetch = [
        model.reference for thing in wanted for model in thing.models if _hub_source(model.source) is None
    ]
    if options.json:
        document = {
            "schema": SCHEMA,
            "files": list(_file_documents(plan)),
            "cached": [str(p) for p in cached],
        }
        environment.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
        environment.stdout.flush()
        return
    for reference in nothing_to_fetch:
        printer.line(f"{reference} needs no download", "dim")
    print_pulled(plan, printer)


def _file_documents(plan: DownloadPlan) -> Iterator[dict[str, Any]]:
    for file in plan.files:
        remote: RemoteFile = file.remote
        yield {
            "repo": remote.repo,
            "file": remote.file,
            "path": str(file.path),
            "bytes": remote.size,
            "sha256": remote.sha256,
            "parts": len(shard_names(remote.file)),
            "downloaded": file.bytes_missing,
        }
