"""The bytes of one file: received, resumed, counted, hashed."""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from specdec_cli.errors import SpecdecError
from specdec_cli.registry.hub import HubClient
from specdec_cli.registry.hub_errors import TRANSPORT_ERRORS
from specdec_cli.registry.remote_files import RemoteFile

CHUNK_BYTES = 1 << 20
"""How much is written, counted and hashed at a time; the most that a killed process loses."""
BREAKS_TOLERATED = 5
"""Broken connections in a row without a single new byte before we give up."""
MAGIC = b"GGUF"


@dataclass(frozen=True)
class Fetch:
    """One file to fetch into `partial`, from wherever that stopped."""

    remote: RemoteFile
    partial: Path
    progress: Callable[[int], None]
    """Hears how many bytes are here, after each chunk."""
    note: Callable[[str], None]


def fetch_file(fetch: Fetch, client: HubClient) -> None:
    """Complete and verify `fetch.partial`; on return it is exactly the file that the Hub describes.

    Raises `SpecdecError`. Received bytes are kept unless they are proved wrong. A file that turns out wrong
    after it was resumed is fetched once more from its beginning: its older part may have been damaged.
    """
    resumed = fetch.partial.is_file() and fetch.partial.stat().st_size > 0
    try:
        _complete(fetch, client)
    except SpecdecError as error:
        if not resumed or error.code != "file.wrong_content":
            raise
        fetch.note("what was received earlier does not fit: starting again")
        _complete(fetch, client)


def _complete(fetch: Fetch, client: HubClient) -> None:
    with fetch.partial.open("ab+") as file:
        if file.tell() > fetch.remote.size:
            file.truncate(0)
        with HashingWriter(file) as writer:
            _receive(writer, fetch, client)
        digest = writer.hexdigest()
    if fetch.remote.sha256 is not None and digest != fetch.remote.sha256:
        fetch.partial.unlink()
        raise SpecdecError(
            f"{fetch.remote.file} arrived damaged: its SHA-256 is not the one the Hub states",
            hint="run the same command again; the damaged file was deleted",
            code="file.wrong_content",
        )


def _receive(writer: HashingWriter, fetch: Fetch, client: HubClient) -> None:
    """Read until the file has its size, going on where connections break."""
    breaks = 0
    while writer.position < fetch.remote.size:
        before = writer.position
        try:
            _read_one_answer(writer, fetch, client)
        except TRANSPORT_ERRORS as error:
            breaks = 1 if writer.position > before else breaks + 1
            if breaks > BREAKS_TOLERATED:
                reason = " ".join(str(error).split()) or type(error).__name__
                raise SpecdecError(
                    f"the connection broke again and again while downloading {fetch.remote.file}: {reason}",
                    hint=_kept(writer, fetch),
                    code="file.cut",
                ) from None
            fetch.note(f"the connection broke after {writer.position / 1e6:.1f} MB; going on from there")
            time.sleep(min(0.5 * 2 ** (breaks - 1), 8.0) if breaks > 1 else 0.1)


def _read_one_answer(writer: HashingWriter, fetch: Fetch, client: HubClient) -> None:
    with client.open(fetch.remote, writer.position) as response:
        if response.status_code == 416:
            raise _wrong_size(writer, fetch)
        at_start = response.status_code == 200
        for chunk in response.iter_bytes(CHUNK_BYTES):
            if at_start:
                _check_beginning(chunk, fetch)
                if writer.position:
                    fetch.note("the server cannot go on in the middle: starting again")
                    writer.restart()
                at_start = False
            if writer.position + len(chunk) > fetch.remote.size:
                raise _wrong_size(writer, fetch)
            writer.write(chunk)
            fetch.progress(writer.position)
    if writer.position < fetch.remote.size:
        # The answer was complete by its own account.
        raise _wrong_size(writer, fetch)


def _check_beginning(chunk: bytes, fetch: Fetch) -> None:
    """Refuse another kind of answer before anything that was received earlier is given up for it."""
    if fetch.remote.file.lower().endswith(".gguf") and not chunk.startswith(MAGIC[: len(chunk)]):
        raise SpecdecError(
            f"what came for {fetch.remote.file} is not a GGUF file (a login page of the network?)",
            hint="open the Hub in a browser, then run the same command again",
            code="file.hub_answer",
        )


def _wrong_size(writer: HashingWriter, fetch: Fetch) -> SpecdecError:
    return SpecdecError(
        f"{fetch.remote.file} has another size than the Hub states ({fetch.remote.size:,} bytes)",
        hint=_kept(writer, fetch),
        code="file.wrong_size",
    )


def _kept(writer: HashingWriter, fetch: Fetch) -> str:
    here, size = writer.position / 1e6, fetch.remote.size / 1e6
    return f"{here:.1f} of {size:.1f} MB are kept; run the same command again to go on"


class HashingWriter:
    """Appends to a file and hashes it, what was there before included, on a thread of its own."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.position = file.seek(0, 2)
        """Bytes in the file."""
        self._begin(resume=self.position > 0)

    def __enter__(self) -> HashingWriter:
        return self

    def __exit__(self, *_error: object) -> None:
        self._end()
        self._file.flush()

    def write(self, chunk: bytes) -> None:
        """Append."""
        self._file.write(chunk)
        self._file.flush()
        self.position += len(chunk)
        self._chunks.put(chunk)

    def restart(self) -> None:
        """Empty the file."""
        self._end()
        self._file.truncate(0)
        self.position = 0
        self._begin(resume=False)

    def hexdigest(self) -> str:
        """SHA-256 of the file, once the writer was left."""
        return self._hash.hexdigest()

    def _begin(self, *, resume: bool) -> None:
        self._hash = hashlib.sha256()
        self._chunks: queue.Queue[bytes | None] = queue.Queue(maxsize=16)
        before = Path(self._file.name) if resume else None
        arguments = (self._hash, self._chunks, before, self.position)
        self._thread = threading.Thread(target=_hash_all, args=arguments, name="sha256", daemon=True)
        self._thread.start()

    def _end(self) -> None:
        self._chunks.put(None)
        self._thread.join()


def _hash_all(
    digest: hashlib._Hash, chunks: queue.Queue[bytes | None], before: Path | None, length: int
) -> None:
    """Hash the first `length` bytes of the file that was there, then every chunk until None."""
    if before is not None:
        with before.open("rb") as file:
            while length and (piece := file.read(min(CHUNK_BYTES, length))):
                digest.update(piece)
                length -= len(piece)
    while (chunk := chunks.get()) is not None:
        digest.update(chunk)
