"""What is known of the dimensions of the catalog's models, without a network, and kept between runs.

Reading a large vocabulary's header takes most of a second, laying out a sketch some milliseconds; `list` does that
for every pair. So a shape is kept in our cache for as long as what it was read from stays the same.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict, fields
from itertools import groupby
from typing import TYPE_CHECKING, Any

from specdec_cli import __version__
from specdec_cli.errors import SpecdecError
from specdec_cli.memory.shape import LayerShape, ModelShape
from specdec_cli.registry.atomic import read_json, write_json
from specdec_cli.registry.catalog import ModelEntry
from specdec_cli.registry.resolve import Folders
from specdec_cli.registry.sources import HubSource
from specdec_cli.registry.store import Inventory

if TYPE_CHECKING:
    from specdec_cli.gguf.header import ModelHeader

_SCHEMA = f"1 {__version__} {len(fields(ModelShape))} {len(fields(LayerShape))}"
"""Shapes kept by another version are read anew."""


class Shapes:
    """Shapes by catalog entry: by published dimensions, else by the header of the file that is here."""

    def __init__(self, inventory: Inventory, folders: Folders) -> None:
        self._inventory = inventory
        self._folders = folders
        self._path = folders.cache / "shapes.json"
        kept = read_json(self._path)
        valid = isinstance(kept, dict) and kept.get("schema") == _SCHEMA
        self._kept: dict[str, Any] = kept["shapes"] if valid else {}
        self._new: dict[str, Any] = {}

    def of(self, entry: ModelEntry) -> ModelShape | None:
        """None where nothing is known without asking the Hub."""
        key = self._key(entry)
        if key is not None and key in self._kept:
            with contextlib.suppress(TypeError, KeyError, ValueError):
                return _from_document(self._kept[key])
        shape = self._read(entry)
        if shape is not None and key is not None:
            self._kept[key] = self._new[key] = _as_document(shape)
        return shape

    def save(self) -> None:
        """Keep what was read now."""
        if self._new:
            with contextlib.suppress(OSError):
                write_json(self._path, {"schema": _SCHEMA, "shapes": self._kept})
            self._new = {}

    def _key(self, entry: ModelEntry) -> str | None:
        """Changes with whatever the shape is read from; None for what is not worth keeping again."""
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


def _as_document(shape: ModelShape) -> dict[str, Any]:
    """Like layers that follow each other are written once, with their number."""
    layers = [[len(list(group)), asdict(layer)] for layer, group in groupby(shape.layers)]
    whole = {field.name: getattr(shape, field.name) for field in fields(shape) if field.name != "layers"}
    return {**whole, "layers": layers}


def _from_document(document: dict[str, Any]) -> ModelShape:
    layers = tuple(
        layer for count, values in document["layers"] for layer in (LayerShape(**values),) * int(count)
    )
    return ModelShape(**{**document, "layers": layers})
