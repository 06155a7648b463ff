"""What is known of the dimensions of the catalog's models, without a network."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from specdec_cli.errors import SpecdecError
from specdec_cli.registry.catalog import ModelEntry
from specdec_cli.registry.resolve import Folders
from specdec_cli.registry.sources import HubSource
from specdec_cli.registry.store import Inventory

if TYPE_CHECKING:  # `list` has half a second, and seldom needs these
    from specdec_cli.gguf.header import ModelHeader
    from specdec_cli.memory.shape import ModelShape


class Shapes:
    """Shapes by catalog entry: by published dimensions, else by the header of the file that is here."""

    def __init__(self, inventory: Inventory, folders: Folders) -> None:
        self._inventory = inventory
        self._folders = folders
        self._known: dict[ModelEntry, ModelShape | None] = {}

    def of(self, entry: ModelEntry) -> ModelShape | None:
        """None where nothing is known without asking the Hub."""
        if entry not in self._known:
            self._known[entry] = self._read(entry)
        return self._known[entry]

    def key(self, entry: ModelEntry) -> str | None:
        """A text that changes with whatever the shape is read from; None where that cannot be told."""
        if entry.facts is not None:
            return f"{entry.label} {entry.context} {entry.facts}"
        model = self._inventory.by_entry.get(entry)
        if model is None:
            return None
        status = model.path.stat()
        return f"{model.path} {status.st_size} {status.st_mtime_ns}"

    def _read(self, entry: ModelEntry) -> ModelShape | None:
        from specdec_cli.memory.read_shape import read_shape
        from specdec_cli.registry.sketch import sketch_header

        header = sketch_header(entry) or self._header_here(entry) or self._header_read_before(entry)
        return read_shape(header) if header is not None else None

    def _header_here(self, entry: ModelEntry) -> ModelHeader | None:
        model = self._inventory.by_entry.get(entry)
        if model is None:
            return None
        from specdec_cli.gguf.reader import read_header

        with contextlib.suppress(SpecdecError):
            return read_header(model.path)
        return None

    def _header_read_before(self, entry: ModelEntry) -> ModelHeader | None:
        """Of a remote file, by an earlier `check` or `pull`."""
        if not isinstance(entry.source, HubSource) or not (self._folders.cache / "headers").is_dir():
            return None
        from specdec_cli.registry.kept_headers import kept_header
        from specdec_cli.registry.remote_files import hub_endpoint

        return kept_header(entry.source, hub_endpoint(), self._folders.cache)
