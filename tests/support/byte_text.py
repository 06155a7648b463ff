"""A vocabulary of bytes, a few merged pieces and control tokens: how a text is cut depends on what stands around."""

from __future__ import annotations

import re
from collections.abc import Sequence

MERGES = ("he", "hello", "th", "the", " the", "in", "ing", "\n\n", "er", "us", "user", ": ", "so", "##", "# ")


class ByteText:
    """Longest match first, control tokens split. Token 0 ends an answer."""

    def __init__(self, specials: Sequence[str]) -> None:
        self.specials = tuple(specials)
        merged = [text.encode() for text in MERGES]
        self._pieces = [bytes([value]) for value in range(256)] + merged
        self._by_piece = {piece: index + len(self.specials) for index, piece in enumerate(self._pieces)}
        self._split = re.compile(
            "(" + "|".join(map(re.escape, sorted(specials, key=len, reverse=True))) + ")"
        )

    @property
    def n_vocab(self) -> int:
        return len(self.specials) + len(self._pieces)

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        parts = self._split.split(text) if parse_special else [text]
        tokens: list[int] = []
        for part in parts:
            if parse_special and part in self.specials:
                tokens.append(self.specials.index(part))
            else:
                tokens += self._plain(part.encode())
        return tokens

    def bytes_of(self, text: str) -> list[int]:
        """The same text one byte at a time: what a model may write and the tokenizer never would."""
        return [self._by_piece[bytes([value])] for value in text.encode()]

    def piece(self, token: int) -> bytes:
        count = len(self.specials)
        return b"" if token < count else self._pieces[token - count]

    def is_end_of_generation(self, token: int) -> bool:
        return token == 0

    def spell(self, tokens: Sequence[int]) -> str:
        """The text with its control tokens written out."""
        count = len(self.specials)
        data = b"".join(
            self.specials[token].encode() if token < count else self._pieces[token - count]
            for token in tokens
        )
        return data.decode("utf-8", "replace")

    def _plain(self, data: bytes) -> list[int]:
        tokens = []
        longest = max(map(len, MERGES))
        position = 0
        while position < len(data):
            for size in range(min(longest, len(data) - position), 0, -1):
                token = self._by_piece.get(data[position : position + size])
                if token is not None:
                    tokens.append(token)
                    position += size
                    break
        return tokens
