"""Where a header's bytes come from, and the window through which the parser sees them."""

from __future__ import annotations

import stat
import struct
from array import array
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Protocol

from specdec_cli.gguf.problems import HeaderProblem

STEP_BYTES = 768 * 1024
"""How far the window reads on when more is not known to be needed: the most a remote header may cost too much."""
MAX_HEADER_BYTES = 256 * 1024 * 1024
"""No model has a header this large; vocabularies of 260 000 tokens with their merges take 16 MiB."""
PEEK_BYTES = 256
LITTLE_ENDIAN = {code: struct.Struct(f"<{code}") for code in "bBhHiIqQfd"}


class ByteSource(Protocol):
    """A file somewhere, of which any part can be read."""

    @property
    def size(self) -> int | None:
        """Its size in bytes; None when nobody says."""

    def read(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`; none only where the file ends.

        May raise `SpecdecError` when they cannot be had.
        """


class FileSource:
    """A local file as a `ByteSource`. Read, not mapped: a file cut short meanwhile must not kill the process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            status = path.stat()
            if stat.S_ISDIR(status.st_mode):
                hint = "name the .gguf file in it"
                raise HeaderProblem(str(path), "is a directory", code="file.directory", hint=hint)
            if not stat.S_ISREG(status.st_mode):
                raise HeaderProblem(str(path), "is not a regular file", code="file.unreadable")
            self._file = path.open("rb", buffering=0)
        except FileNotFoundError:
            raise HeaderProblem(str(path), "no such file", code="file.missing") from None
        except (OSError, ValueError) as problem:
            raise self._unreadable(problem) from None
        self._size = status.st_size

    def _unreadable(self, problem: OSError | ValueError) -> HeaderProblem:
        reason = (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
        return HeaderProblem(str(self.path), f"cannot be read: {reason}", code="file.unreadable")

    @property
    def size(self) -> int:
        """Its size when it was opened."""
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        """As `ByteSource.read`."""
        try:
            self._file.seek(offset)
            return self._file.read(length)
        except OSError as problem:
            raise self._unreadable(problem) from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> FileSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Window:
    """The part of a header that is in memory: from what was not yet consumed to how far has been read.

    Moves forward only: `have` reads on, `take` and its sisters consume, `forget` drops what was consumed. A claim
    that cannot hold is refused before anything is read or allocated for it.
    """

    def __init__(self, source: ByteSource, name: str) -> None:
        self._source = source
        self.name = name
        """Path or URL, for messages."""
        self.size = source.size
        """Bytes in the file; None until known."""
        self.buffer = bytearray()
        self.start = 0
        """File offset of `buffer[0]`."""
        self.position = 0
        """File offset of the next byte to consume."""
        self.reading = "its first bytes"
        """What is being read, for the message when the file ends there."""

    @property
    def end(self) -> int:
        """File offset behind the last byte in memory."""
        return self.start + len(self.buffer)

    def have(self, length: int, claim: str | None = None) -> None:
        """Have `length` bytes from `position` on in memory. `claim` says what in the header asks for so many."""
        wanted = self.position + length
        if wanted <= self.end:
            return
        if wanted > MAX_HEADER_BYTES:
            limit = f"no model has a header of more than {MAX_HEADER_BYTES >> 20} MiB"
            self.refuse(
                f"{claim or self.reading}: {limit}", code="file.too_large", hint="the file is damaged"
            )
        if self.size is not None and wanted > self.size:
            self._cut_short(self.size, claim)
        self._read_up_to(max(wanted, self.end + STEP_BYTES))
        if self.end < wanted:
            self._cut_short(self.end, claim)

    def peek(self) -> bytes:
        """The first bytes from `position` on, up to `PEEK_BYTES`; fewer where the file ends."""
        if self.position == self.end:
            self._read_up_to(self.end + STEP_BYTES)
        at = self.position - self.start
        return bytes(self.buffer[at : at + PEEK_BYTES])

    def _read_up_to(self, goal: int) -> None:
        if self.size is not None:
            goal = min(goal, self.size)
        while self.end < goal:
            more = self._source.read(self.end, goal - self.end)
            if not more:
                return
            self.buffer += more

    def _cut_short(self, size: int, claim: str | None) -> NoReturn:
        self.refuse(
            f"the file ends after {size:,} bytes, inside its header, at {claim or self.reading}",
            code="file.truncated",
            hint="the download is incomplete or the file is damaged: fetch it again",
        )

    def refuse(self, message: str, *, code: str, hint: str | None = None) -> NoReturn:
        """Raise the `HeaderProblem` that says so."""
        raise HeaderProblem(self.name, message, code=code, hint=hint)

    def forget(self) -> None:
        """Drop what was consumed from memory, once it is worth the move."""
        consumed = self.position - self.start
        if consumed >= STEP_BYTES:
            del self.buffer[:consumed]
            self.start = self.position

    def take(self, length: int, claim: str | None = None) -> bytes:
        """Consume `length` bytes."""
        self.have(length, claim)
        at = self.position - self.start
        self.position += length
        with memoryview(self.buffer) as view:
            return bytes(view[at : at + length])

    def take_into(self, numbers: array[int] | array[float], count: int, claim: str) -> None:
        """Consume `count` little-endian numbers of the array's item size and append them to it."""
        length = count * numbers.itemsize
        self.have(length, claim)
        at = self.position - self.start
        self.position += length
        with memoryview(self.buffer) as view:
            numbers.frombytes(view[at : at + length])

    def number(self, code: str) -> int | float:
        """Consume one little-endian number with this `struct` code."""
        layout = LITTLE_ENDIAN[code]
        self.have(layout.size)
        value: int | float = layout.unpack_from(self.buffer, self.position - self.start)[0]
        self.position += layout.size
        return value

    def u32(self) -> int:
        """Consume an unsigned 32-bit number."""
        return int(self.number("I"))

    def u64(self) -> int:
        """Consume an unsigned 64-bit number."""
        return int(self.number("Q"))
