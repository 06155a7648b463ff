"""Tokens → text as it streams: characters that span tokens stay whole, stop strings may span tokens too."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from specdec_cli.protocols import TokenText


@dataclass(frozen=True)
class Piece:
    """A bit of text ready to print, and whether the token that completed it came from a draft."""

    text: str
    drafted: bool


class TextStream:
    """Turns the tokens of one answer into pieces.

    Bytes wait until they make a character; text waits while it may still be the beginning of a stop string.
    """

    def __init__(self, text: TokenText, stop: tuple[str, ...] = ()) -> None:
        self._text = text
        self._stop = stop
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held: list[Piece] = []
        self.stopped_by: str | None = None
        """The stop string that ended the answer, once one has."""

    def push(self, token: int, drafted: bool) -> list[Piece]:
        """The pieces that this token makes ready; sets `stopped_by` when it completes a stop string."""
        text = self._decoder.decode(self._text.piece(token))
        if not text:
            return []
        piece = Piece(text, drafted)
        if not self._stop:
            return [piece]
        self._held.append(piece)
        return self._release(self._ready_length())

    def finish(self) -> list[Piece]:
        """What was still held back. Bytes of an unfinished character are dropped, not torn."""
        return self._release(sum(len(piece.text) for piece in self._held))

    def _ready_length(self) -> int:
        """How many held characters can no longer belong to a stop string."""
        held = "".join(piece.text for piece in self._held)
        found = [(at, stop) for stop in self._stop if (at := held.find(stop)) >= 0]
        if found:
            at, self.stopped_by = min(found)
            return at
        return len(held) - max(_overlap(held, stop) for stop in self._stop)

    def _release(self, length: int) -> list[Piece]:
        """Give out the first `length` held characters; after a stop string the rest is dropped."""
        ready: list[Piece] = []
        while self._held and length > 0:
            piece = self._held.pop(0)
            if len(piece.text) > length:
                self._held.insert(0, Piece(piece.text[length:], piece.drafted))
                piece = Piece(piece.text[:length], piece.drafted)
            length -= len(piece.text)
            ready.append(piece)
        if self.stopped_by is not None:
            self._held.clear()
        return ready


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a proper beginning of `stop`."""
    for length in range(min(len(stop) - 1, len(text)), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0
