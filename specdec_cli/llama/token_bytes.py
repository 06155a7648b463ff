"""What bytes each token of a vocabulary stands for, and which tokens a grammar may see."""

from __future__ import annotations

import codecs
import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from specdec_cli.llama.native import native

AN_END, NO_BYTE = 256, 257
_LONGEST = 256
"""Longer pieces are read one by one."""


class TokenBytes:
    """Every token of one vocabulary, read once: about 5 s for a million.

    Grammars are about the text that people get. So control tokens can be no part of one, although llama.cpp
    would take `<|im_start|>` for thirteen characters; nor can bytes that make no UTF-8, although llama.cpp would
    take some of them for characters.
    """

    def __init__(self, vocabulary: Any, piece: Callable[[int], bytes]) -> None:
        count = int(native().llama_vocab_n_tokens(vocabulary))
        self.pieces = _read_pieces(vocabulary, count, piece)
        ends = native().llama_vocab_is_eog
        self.is_end = np.array([bool(ends(vocabulary, token)) for token in range(count)])
        """For each token, whether it ends a generation."""
        self.ends = np.flatnonzero(self.is_end)
        self.fits_after_character = self.is_end | [_is_text(text) for text in self.pieces]
        """For each token, whether it may follow a whole character: it is text, or an end."""
        self.first_bytes = np.array([text[0] if text else NO_BYTE for text in self.pieces])
        """For each token the first of its bytes, `NO_BYTE` for one without any."""
        self.first_bytes[self.ends] = AN_END
        self.openers = self._find_openers()

    def continues_character(self, token: int, pending: bytes) -> bool:
        """Whether a token is text that goes on where `pending` left a character unfinished."""
        piece = self.pieces[token]
        return len(piece) > 0 and not self.is_end[token] and _is_text(pending + piece)

    def _find_openers(self) -> npt.NDArray[np.int64]:
        """A few tokens that stand for all: those of a single byte, and all whose first byte has no such token.

        What comes next begins with the first byte of one of them that may come next, or is an end.
        """
        singles: dict[int, int] = {}
        for token, text in enumerate(self.pieces):
            if len(text) == 1 and text != b"\0":
                singles.setdefault(text[0], token)
        others = [token for token, text in enumerate(self.pieces) if text and text[0] not in singles]
        return np.array([*singles.values(), *others], dtype=np.int64)


def unfinished(text: bytes) -> bytes | None:
    """The first bytes of a character at the end of `text`, mostly none; None where no UTF-8 text begins so."""
    try:
        text.decode()
    except UnicodeDecodeError:
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            decoder.decode(text)
        except UnicodeDecodeError:
            return None
        rest = decoder.getstate()[0]
        # Python waits for the third byte before it refuses a surrogate.
        return None if rest[:1] == b"\xed" and rest[1:] >= b"\xa0" else rest
    return b""


def _is_text(data: bytes) -> bool:
    # llama.cpp takes a null byte for the end of a piece.
    return len(data) > 0 and b"\0" not in data and unfinished(data) is not None


def _read_pieces(vocabulary: Any, count: int, piece: Callable[[int], bytes]) -> tuple[bytes, ...]:
    """As `piece` for every token, ten times as fast."""
    read = native().llama_token_to_piece
    buffer = ctypes.create_string_buffer(_LONGEST)
    address, copy = ctypes.addressof(buffer), ctypes.string_at
    sizes = (read(vocabulary, token, buffer, _LONGEST, 0, False) for token in range(count))
    return tuple(copy(address, size) if size >= 0 else piece(token) for token, size in enumerate(sizes))
