"""The header of a model on the Hub, without the model: range requests that stop where the header does.

What was fetched is kept by etag in our cache, so that the second look costs one HEAD request, and none when the
Hub cannot be asked (offline, 429, no connection): then the last header known of that reference serves.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from specdec_cli.errors import SpecdecError
from specdec_cli.gguf.header import ModelHeader
from specdec_cli.gguf.reader import parse_header
from specdec_cli.gguf.shards import join_shards
from specdec_cli.registry.hub import HubClient
from specdec_cli.registry.hub_errors import TRANSPORT_ERRORS
from specdec_cli.registry.kept_headers import (
    keep_file_header,
    kept_file_header,
    recall_model,
    remember_model,
)
from specdec_cli.registry.remote_files import RemoteFile, RemoteModel
from specdec_cli.registry.sources import HubSource

_ATTEMPTS = 4
_WORTH_SKIPPING_BYTES = 1 << 20
"""How far an answer without ranges is read on to reach a later offset."""
_UNREACHABLE_CODES = frozenset(
    {"file.offline", "file.rate_limited", "file.hub_unreachable", "file.hub_answer"}
)


@dataclass(frozen=True)
class RemoteHeader:
    """A model's header read from afar, and what that took."""

    header: ModelHeader
    model: RemoteModel
    bytes_fetched: int
    """Bytes of the file that were transferred now; 0 when the header was in our cache."""
    stale_reason: str | None = None
    """Why the Hub could not be asked, when an earlier answer serves instead."""


def read_remote_header(source: HubSource, client: HubClient, cache_dir: Path) -> RemoteHeader:
    """The header of the model `source` means, joined over all its parts.

    Raises `SpecdecError` when the Hub refuses or cannot be reached and nothing is known from before, or when the
    file is not a model.
    """
    try:
        model, stale_reason = client.locate(source), None
        remember_model(model, client.endpoint, cache_dir)
    except SpecdecError as error:
        known = recall_model(source, client.endpoint, cache_dir)
        if error.code not in _UNREACHABLE_CODES or known is None:
            raise
        model, stale_reason = known, error.message
    headers, fetched = [], 0
    for file in model.files:
        header, cost = _file_header(file, client, cache_dir)
        headers.append(header)
        fetched += cost
    whole = headers[0] if len(headers) == 1 else join_shards(headers)
    return RemoteHeader(whole, model, fetched, stale_reason)


class RangeSource:
    """A file of the Hub as a `gguf.source.ByteSource`: each read is one range request.

    A server that ignores ranges is read front to back as one answer that is left when nobody reads on.
    """

    def __init__(self, file: RemoteFile, client: HubClient, kept: bytearray) -> None:
        self._file = file
        self._client = client
        self._kept = kept
        self._stream: _Stream | None = None
        self.bytes_fetched = 0

    @property
    def size(self) -> int:
        """As the Hub states it."""
        return self._file.size

    def read(self, offset: int, length: int) -> bytes:
        """As `ByteSource.read`. Broken connections are tried again from where they broke."""
        data = b""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                data += self._read_once(offset + len(data), length - len(data))
                break
            except TRANSPORT_ERRORS as error:
                self.close()
                if attempt == _ATTEMPTS:
                    reason = " ".join(str(error).split()) or type(error).__name__
                    raise SpecdecError(
                        f"the connection broke while reading the header of {self._file.file}: {reason}",
                        hint="try again",
                        code="file.cut",
                    ) from None
                time.sleep(0.2 * attempt)
        if offset == len(self._kept):
            self._kept += data
        return data

    def close(self) -> None:
        """Let go of an answer that was not read to its end."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _read_once(self, offset: int, length: int) -> bytes:
        length = min(length, self._file.size - offset)
        if length <= 0:
            return b""
        if self._stream is not None:
            return self._read_stream(offset, length)
        with contextlib.ExitStack() as opened:
            response = opened.enter_context(self._client.open(self._file, offset, offset + length))
            if response.status_code == 416:
                return b""
            if response.status_code == 206:
                data = bytes(response.read())
                self.bytes_fetched += len(data)
                return data[:length]
            self._stream = _Stream(response.iter_bytes(), opened.pop_all())
        return self._read_stream(offset, length)

    def _read_stream(self, offset: int, length: int) -> bytes:
        stream = self._stream
        if stream is None:
            return b""
        if offset > stream.position + _WORTH_SKIPPING_BYTES:
            return b""  # a look behind the weights is not worth fetching them
        if offset < stream.position:
            self.close()
            return self._read_once(offset, length)
        before = stream.received
        data = stream.take(offset, length)
        self.bytes_fetched += stream.received - before
        return data


class _Stream:
    """One answer that carries the whole file, read as far as needed."""

    def __init__(self, chunks: Iterator[bytes], opened: contextlib.ExitStack) -> None:
        self._chunks = chunks
        self._opened = opened
        self._buffer = bytearray()
        self.position = 0
        """File offset of the first byte not yet taken."""
        self.received = 0

    def take(self, offset: int, length: int) -> bytes:
        skip = offset - self.position
        while len(self._buffer) < skip + length:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._buffer += chunk
            self.received += len(chunk)
        data = bytes(self._buffer[skip : skip + length])
        del self._buffer[: skip + len(data)]
        self.position = offset + len(data)
        return data

    def close(self) -> None:
        self._opened.close()


def _file_header(file: RemoteFile, client: HubClient, cache_dir: Path) -> tuple[ModelHeader, int]:
    """(Header of one file, bytes fetched for it)."""
    kept = kept_file_header(file, cache_dir)
    if kept is not None:
        return kept, 0
    beginning = bytearray()
    source = RangeSource(file, client, beginning)
    try:
        header = parse_header(source, file.name)
    finally:
        source.close()
    keep_file_header(file, bytes(beginning[: header.header_bytes]), cache_dir)
    return header, source.bytes_fetched
