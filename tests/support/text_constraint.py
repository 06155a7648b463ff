"""A toy grammar that admits a few whole texts, over any vocabulary."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import numpy as np

from specdec_cli.protocols import TokenText


@dataclass
class OneOfTexts:
    """The answer must be one of `texts`; after the last of them only an end."""

    texts: tuple[bytes, ...]
    vocabulary: TokenText
    written: bytes = b""
    is_over: bool = False

    @classmethod
    def from_grammar(cls, grammar: str, vocabulary: TokenText) -> OneOfTexts:
        """Reads as much of GBNF as `root ::= "one" | "other"`."""
        return cls(tuple(text.encode() for text in re.findall('"([^"]*)"', grammar)), vocabulary)

    def _rests(self) -> list[bytes]:
        size = len(self.written)
        return [text[size:] for text in self.texts if text.startswith(self.written)]

    @property
    def complete(self) -> bool:
        return not self.is_over and b"" in self._rests()

    @property
    def ended(self) -> bool:
        return self.is_over or self._rests() == [b""]

    def _allows(self, token: int) -> bool:
        if self.vocabulary.is_end_of_generation(token):
            return self.complete
        piece = self.vocabulary.piece(token)
        return not self.is_over and len(piece) > 0 and any(rest.startswith(piece) for rest in self._rests())

    def allowed(self, tokens: np.ndarray) -> np.ndarray:
        return np.array([self._allows(int(token)) for token in tokens], dtype=bool)

    def forced(self, limit: int) -> bytes:
        return b"" if self.is_over else os.path.commonprefix(self._rests())[:limit]  # noqa: RUF071

    def accept(self, token: int) -> None:
        assert self._allows(token), f"token {token} is not allowed after {self.written!r}"
        self.is_over = self.vocabulary.is_end_of_generation(token)
        self.written += b"" if self.is_over else self.vocabulary.piece(token)

    def fork(self) -> OneOfTexts:
        return OneOfTexts(self.texts, self.vocabulary, self.written, self.is_over)
