"""DRY ("don't repeat yourself"): tokens that would prolong a repetition of the text are made less likely.

The text ends in some suffix. Wherever that suffix, or its last L tokens, occurred before, the token that
followed then would now make the repetition L + 1 long: from an allowed length on, its logit is lowered by
multiplier · base ^ (L - allowed). No repetition is counted across a breaker token.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from specdec_cli.protocols import TokenText
from specdec_cli.sampling.distribution import TokenIds
from specdec_cli.sampling.history import tail
from specdec_cli.settings import SamplingSettings

BREAKERS = (b"\n", b":", b'"', b"*")
"""llama.cpp's default sequence breakers; a token whose text holds one of them is a breaker."""

_LOG_OF_LARGEST_FLOAT32 = 88.7228391


def dry_is_on(settings: SamplingSettings) -> bool:
    """Whether DRY changes anything."""
    return settings.dry_multiplier != 0 and settings.dry_penalty_last_n != 0


def breaker_tokens(text: TokenText) -> frozenset[int]:
    """The breaker tokens of a vocabulary. Control tokens count as having no text."""
    pieces = ((token, text.piece(token)) for token in range(text.n_vocab))
    return frozenset(token for token, piece in pieces if any(breaker in piece for breaker in BREAKERS))


class Dry:
    """The DRY penalties after a text."""

    def __init__(self, settings: SamplingSettings, breakers: Collection[int]) -> None:
        self._settings = settings
        self._breakers = np.array(sorted(breakers), dtype=np.int64)
        base = float(np.float32(settings.dry_base))
        self._largest_exponent = int(_LOG_OF_LARGEST_FLOAT32 / math.log(base)) if base > 1.000001 else None

    def penalties(self, history: Sequence[int]) -> tuple[TokenIds, npt.NDArray[np.float32]]:
        """Token ids, each once, and what is to be subtracted from the logit of each (float32)."""
        text = tail(history, self._settings.dry_penalty_last_n)
        allowed = self._settings.dry_allowed_length
        limit = self._since_breaker(text)
        if len(text) <= allowed or limit < allowed:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        lengths = self._repeat_lengths(text, limit)
        long_enough = np.flatnonzero(lengths >= allowed)
        followers, exponents = text[long_enough + 1], lengths[long_enough] - allowed
        # In ascending order the greatest exponent of a token is written last.
        order = np.argsort(exponents, kind="stable")
        greatest = dict(zip(followers[order].tolist(), exponents[order].tolist(), strict=True))
        tokens = np.fromiter(greatest, dtype=np.int64, count=len(greatest))
        powers = np.fromiter(greatest.values(), dtype=np.float64, count=len(greatest))
        if self._largest_exponent is not None:
            powers = np.minimum(powers, self._largest_exponent)
        base, multiplier = np.float32(self._settings.dry_base), np.float32(self._settings.dry_multiplier)
        with np.errstate(over="ignore"):
            penalties = (multiplier * np.power(np.float64(base), powers)).astype(np.float32)
        penalized = ~np.isin(tokens, self._breakers)
        return tokens[penalized], penalties[penalized]

    def _since_breaker(self, text: TokenIds) -> int:
        """How many tokens follow the last breaker."""
        breakers = np.flatnonzero(np.isin(text, self._breakers))
        return len(text) - 1 - int(breakers[-1]) if len(breakers) else len(text)

    def _repeat_lengths(self, text: TokenIds, limit: int) -> npt.NDArray[np.int64]:
        """For each position but the last, how many tokens up to it equal the end of the text; at most `limit`.

        Lengths beyond the one with the largest penalty are not told apart: it bounds the work on a text
        that repeats itself throughout.
        """
        if self._largest_exponent is not None:
            limit = min(limit, self._settings.dry_allowed_length + self._largest_exponent)
        last = len(text) - 1
        lengths = np.zeros(last, dtype=np.int64)
        ends = np.arange(last)
        for length in range(limit):
            ends = ends[ends >= length]
            ends = ends[text[ends - length] == text[last - length]]
            if not len(ends):
                break
            lengths[ends] = length + 1
        return lengths
