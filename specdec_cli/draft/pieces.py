"""The tokens of a vocabulary by their bytes: which of them can write the beginning of a text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence


class PieceIndex:
    """Built once for a vocabulary; `pieces[token]` are its tokens' bytes."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._tokens: dict[bytes, list[int]] = {}
        for token, piece in enumerate(pieces):
            if piece:
                self._tokens.setdefault(piece, []).append(token)
        self._sorted = sorted(self._tokens)
        self._longest = max(map(len, self._tokens), default=0)

    def cut(self, text: bytes) -> list[int]:
        """Tokens that write `text`, at each place the longest one; ends where no token fits."""
        tokens: list[int] = []
        start = 0
        while start < len(text):
            longest = min(self._longest, len(text) - start)
            fitting = (text[start : start + length] for length in range(longest, 0, -1))
            piece = next((piece for piece in fitting if piece in self._tokens), None)
            if piece is None:
                break
            tokens.append(self._tokens[piece][0])
            start += len(piece)
        return tokens

    def has_one_beginning(self, text: bytes) -> bool:
        """Whether exactly one token can come next when `text` must: it is a beginning of the text, and no other
        token is, nor goes on where the text ends."""
        longest = min(self._longest, len(text))
        beginnings = (self._tokens.get(text[:length], ()) for length in range(1, longest + 1))
        return sum(map(len, beginnings)) == 1 and not self._goes_beyond(text)

    def _goes_beyond(self, text: bytes) -> bool:
        after = bisect_right(self._sorted, text)
        return after < len(self._sorted) and self._sorted[after].startswith(text)
