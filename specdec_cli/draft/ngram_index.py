"""Where did the last tokens occur before? Hash chains over the text, as in LZ77, one chain per gram length.

For every gram length n in `LEVELS` there is a table from the gram's hash to the most recent position it ended
at, and per position a link to the one before. Adding a token touches one slot per level; undoing it restores
exactly that slot. Nothing is ever scanned, so the cost per token does not depend on the length of the text.
Hashes may collide: every candidate is compared with the text before it counts.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

LEVELS = (16, 8, 4, 2, 1)
"""Gram lengths that are indexed, longest first. Between them a match is extended by halves."""

LONGEST_MATCH = 2 * LEVELS[0] - 1

_TABLE_BITS = 16
_MAX_CANDIDATES = 4
_MAX_HOPS = 12


@dataclass(frozen=True)
class Match:
    """The longest earlier occurrences of the text's end."""

    length: int
    """How many of the last tokens match, at most `LONGEST_MATCH`."""
    ends: tuple[int, ...]
    """Where the occurrences end, that is, the position each continues at; most recent first, at most 4."""


class NgramIndex:
    """The text so far and its grams.

    A gram enters the index with the token that follows it, so every position found has a continuation.
    """

    def __init__(self, min_match: int = 2) -> None:
        self.tokens: list[int] = []
        self._mask = (1 << _TABLE_BITS) - 1
        empty = array("i", [-1]) * (1 << _TABLE_BITS)
        self._levels = [
            (gram, empty[:], array("i")) for gram in LEVELS if gram >= min_match or gram * 2 > min_match
        ]
        self._min_match = min_match
        self._at_most = 0  # A match grows by at most one per token, which spares most lookups of long grams.

    def __len__(self) -> int:
        return len(self.tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        """Append `tokens` to the text."""
        text = self.tokens
        mask = self._mask
        self._at_most += len(tokens)
        for token in tokens:
            end = len(text)
            for gram, heads, links in self._levels:
                if end < gram:
                    links.append(-1)
                    continue
                slot = hash(tuple(text[end - gram : end])) & mask
                links.append(heads[slot])
                heads[slot] = end
            text.append(token)

    def truncate(self, length: int) -> None:
        """Forget every token from position `length` on; the index is as if they had never been added."""
        text = self.tokens
        self._at_most = length
        while len(text) > length:
            text.pop()
            end = len(text)
            for gram, heads, links in self._levels:
                previous = links.pop()
                if end >= gram:
                    heads[hash(tuple(text[end - gram : end])) & self._mask] = previous

    def longest_match(self) -> Match | None:
        """The longest suffix of the text that occurred before, and where; None when nothing does.

        At each level the most recent candidates are looked at (4 that match, 12 in all), so on a text that
        repeats one gram very often an old, longer match may be passed over for a recent, shorter one.
        """
        text = self.tokens
        size = len(text)
        for gram, heads, links in self._levels:
            if gram > self._at_most or gram >= size:
                continue
            tail = text[size - gram :]
            end = heads[hash(tuple(tail)) & self._mask]
            best = 0
            ends: list[int] = []
            found = 0
            for _ in range(_MAX_HOPS):
                if end < 0 or found == _MAX_CANDIDATES:
                    break
                if text[end - gram : end] == tail:
                    found += 1
                    length = self._extend_backwards(end, gram)
                    if length > best:
                        best, ends = length, [end]
                    elif length == best:
                        ends.append(end)
                end = links[end]
            if best >= self._min_match:
                self._at_most = best
                return Match(best, tuple(ends))
        self._at_most = self._min_match - 1
        return None

    def _extend_backwards(self, end: int, length: int) -> int:
        """How long the match ending at `end` is, `length` tokens being known: less than twice as many."""
        text = self.tokens
        size = len(text)
        step = length >> 1
        while step:
            start = end - length - step
            if start >= 0 and text[start : end - length] == text[size - length - step : size - length]:
                length += step
            step >>= 1
        return length
