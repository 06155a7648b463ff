"""The answer on standard output, as it is accepted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TextIO

from specdec_cli.engine.output import Piece

_ACCEPTED_ON, _ACCEPTED_OFF = "\x1b[32;4m", "\x1b[39;24m"
_PLAIN_ON, _PLAIN_OFF = "«", "»"


class AnswerWriter:
    """Writes pieces at once. With `show_accepted`, text from accepted draft tokens stands out.

    On a terminal it is green and underlined; without colours it stands between « and ».
    """

    def __init__(self, stream: TextIO, *, show_accepted: bool = False) -> None:
        self._stream = stream
        coloured = stream.isatty() and not os.environ.get("NO_COLOR")
        self._marks = (_ACCEPTED_ON, _ACCEPTED_OFF) if coloured else (_PLAIN_ON, _PLAIN_OFF)
        self._show_accepted = show_accepted
        self._inside = False
        self._last = "\n"

    def write(self, pieces: Iterable[Piece]) -> None:
        """Print what became ready in one round."""
        text = "".join(self._marked(piece) for piece in pieces)
        if text:
            self._stream.write(text)
            self._stream.flush()
            self._last = text[-1]

    def close(self) -> None:
        """End the marking and, on a terminal, the line."""
        text = self._marks[1] if self._inside else ""
        self._inside = False
        if self._stream.isatty() and self._last != "\n":
            text += "\n"
        self._stream.write(text)
        self._stream.flush()

    def _marked(self, piece: Piece) -> str:
        if not self._show_accepted or piece.drafted == self._inside:
            return piece.text
        self._inside = piece.drafted
        return self._marks[0 if piece.drafted else 1] + piece.text
