"""Headers of the Hub's files that were read before, by etag, and which files a reference meant then."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from specdec_cli.errors import SpecdecError
from specdec_cli.gguf.header import ModelHeader
from specdec_cli.gguf.reader import parse_header
from specdec_cli.gguf.shards import join_shards
from specdec_cli.registry.atomic import read_json, whole_file, write_json
from specdec_cli.registry.remote_files import RemoteFile, RemoteModel
from specdec_cli.registry.sources import HubSource


def remember_model(model: RemoteModel, endpoint: str, cache_dir: Path) -> None:
    """Note what a reference means now."""
    with contextlib.suppress(OSError):
        write_json(_index(model.source, endpoint, cache_dir), [asdict(file) for file in model.files])


def recall_model(source: HubSource, endpoint: str, cache_dir: Path) -> RemoteModel | None:
    """What a reference meant when it was last looked up; None when it never was."""
    known: Any = read_json(_index(source, endpoint, cache_dir))
    try:
        files = tuple(RemoteFile(**file) for file in known)
    except TypeError:
        return None
    return RemoteModel(source, files) if files else None


def kept_file_header(file: RemoteFile, cache_dir: Path) -> ModelHeader | None:
    """The header of exactly this file, if it was read before."""
    with contextlib.suppress(OSError, SpecdecError):
        return parse_header(_KeptSource(_header_path(file, cache_dir).read_bytes(), file.size), file.name)
    return None


def keep_file_header(file: RemoteFile, header_bytes: bytes, cache_dir: Path) -> None:
    """Keep the beginning of a file, up to the end of its header."""
    path = _header_path(file, cache_dir)
    with contextlib.suppress(OSError), whole_file(path, durable=False) as temporary:
        temporary.write_bytes(header_bytes)


def kept_header(source: HubSource, endpoint: str, cache_dir: Path) -> ModelHeader | None:
    """The header of the model that a reference meant when it was last looked up, if all of it was read."""
    model = recall_model(source, endpoint, cache_dir)
    headers = [kept_file_header(file, cache_dir) for file in model.files] if model is not None else []
    whole = [header for header in headers if header is not None]
    if not whole or len(whole) < len(headers):
        return None
    with contextlib.suppress(SpecdecError):
        return whole[0] if len(whole) == 1 else join_shards(whole)
    return None


class _KeptSource:
    """The beginning of a file from our cache; what lies behind it is not there."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = data
        self.size: int = size

    def read(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]


def _index(source: HubSource, endpoint: str, cache_dir: Path) -> Path:
    return cache_dir / "headers" / f"{_short_hash(f'{endpoint} {source}')}.json"


def _header_path(file: RemoteFile, cache_dir: Path) -> Path:
    return cache_dir / "headers" / f"{_short_hash(file.etag)}.gguf-header"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
