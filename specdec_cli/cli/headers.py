"""From --pair, --target and --draft to headers, wherever the models are: here, on the Hub, or not made yet.

Nothing is downloaded but headers, nothing is made, no weights are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specdec_cli.cli.references import resolve_references
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.findings import Finding
from specdec_cli.gguf.header import ModelHeader
from specdec_cli.gguf.reader import read_header
from specdec_cli.registry.catalog import load_catalog
from specdec_cli.registry.remote_files import is_offline
from specdec_cli.registry.resolve import Folders, ResolvedModel
from specdec_cli.registry.sources import DerivedSource, HubSource, PathSource, Source, require_package_file
from specdec_cli.registry.ungated import ungated_alternative
from specdec_cli.ui.console import Printer


@dataclass(frozen=True)
class KnownModel:
    """What is known of one model before it is loaded."""

    header: ModelHeader
    path: Path | None
    """The file; None when it is not on this machine."""
    notes: tuple[Finding, ...] = ()


def known_models(
    options: EngineOptions, printer: Printer, *, offline: bool = False
) -> tuple[KnownModel, KnownModel | None]:
    """Target and draft with their headers. Raises `SpecdecError` where a header cannot be had."""
    folders = Folders.default()
    reader = _Reader(folders, printer, offline)
    target, draft = resolve_references(options, folders)
    return reader.model(target), None if draft is None else reader.model(draft)


class _Reader:
    """Reads headers from where they are."""

    def __init__(self, folders: Folders, printer: Printer, offline: bool) -> None:
        self._folders = folders
        self._printer = printer
        self._offline = offline

    def model(self, model: ResolvedModel) -> KnownModel:
        """The header of one resolved model."""
        if model.path is not None:
            return KnownModel(read_header(model.path), model.path)
        return self._source(model.source)

    def _source(self, source: Source) -> KnownModel:
        if isinstance(source, HubSource):
            return self._remote(source)
        if isinstance(source, DerivedSource):
            return self._derived(source)
        path = source.path if isinstance(source, PathSource) else require_package_file(source)
        return KnownModel(read_header(path), path)

    def _remote(self, source: HubSource) -> KnownModel:
        from specdec_cli.registry.hub import HubClient
        from specdec_cli.registry.remote import read_remote_header

        client = HubClient(
            offline=is_offline(self._offline),
            note=lambda text: self._printer.line(text, "dim"),
            suggest_ungated=lambda repo: ungated_alternative(repo, load_catalog()),
        )
        remote = read_remote_header(source, client, self._folders.cache)
        if remote.bytes_fetched:
            size = f"{remote.bytes_fetched / 1e6:.1f} MB of {remote.model.bytes / 1e9:.1f} GB"
            self._printer.line(f"read the header of {source}: {size}", "dim")
        notes: tuple[Finding, ...] = ()
        if remote.stale_reason is not None:
            notes = (
                Finding(
                    "info",
                    "file.header_from_cache",
                    f"{source}: {remote.stale_reason}; what was read of it earlier is used",
                ),
            )
        return KnownModel(remote.header, None, notes)

    def _derived(self, source: DerivedSource) -> KnownModel:
        """A model that is made on first use: its header is told from the one it is made of."""
        from specdec_cli.registry.derive import derived_path
        from specdec_cli.registry.expected_header import expected_header

        base = self._source(source.base)
        name = (
            str(source)
            if base.path is None
            else str(derived_path(base.path, source.ftype, self._folders.cache))
        )
        note = Finding(
            "info", "file.made_on_first_use", f"{Path(name).name} is made by llama.cpp on first use"
        )
        return KnownModel(expected_header(base.header, source.ftype, name), None, (*base.notes, note))
