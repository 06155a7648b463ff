"""The one random source: every random number is a function of (seed, position in the text, purpose).

Nothing is consumed, so nothing depends on how many numbers were drawn before: the token at text position 57
meets the same noise whether it was decoded alone, judged as the third token of a draft, judged again after a
rollback, or reached in a resumed chat. That is what makes *match* equal to plain decoding for any drafter.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

TARGET = 0
"""The target's own choice at a position."""
ACCEPT = 1
"""Whether a drafted token is kept; one number per sibling."""
DRAFT = 2
"""The drafter's choice under *reject*."""
RESIDUAL = 3
"""The choice from what rejected candidates leave."""
XTC = 4
"""Whether XTC strikes at a position."""

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB


class RandomSource:
    """Random numbers addressed by position, from SplitMix64's finalizer (Steele, Lea and Flood, 2014).

    `seed`: any integer; its low 64 bits count.
    """

    def __init__(self, seed: int) -> None:
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Other numbers from here on, for everyone who holds this source: another try at the same text."""
        self.seed = seed
        self._key = _mix((seed & _MASK) ^ 0x5EEDDEC0DEC0DE5E)

    def uniform(self, position: int, stream: int = TARGET, index: int = 0) -> float:
        """A number in [0, 1) for one text position and purpose.

        `index` tells several numbers of one purpose at one position apart: the sibling judged, or for a
        drafter the text length at which the round began. A drafter that decides how far to draft from what
        it drew must pass that length: else the next round meets numbers that already steered a decision,
        and they are uniform no longer.
        """
        return (self._word(position, stream, index) >> 11) * 2.0**-53

    def exponentials(
        self, position: int, tokens: npt.NDArray[np.int64], stream: int = TARGET
    ) -> npt.NDArray[np.float64]:
        """One standard exponential number for each token id, always greater than 0.

        A token's number depends on its id and the position only, not on which other tokens are asked for.
        """
        word = tokens.astype(np.uint64)
        word *= np.uint64(_GOLDEN)
        word += np.uint64(self._word(position, stream, 0))
        word ^= word >> np.uint64(30)
        word *= np.uint64(_MIX_1)
        word ^= word >> np.uint64(27)
        word *= np.uint64(_MIX_2)
        word ^= word >> np.uint64(31)
        # 52 bits and a half: strictly between 0 and 1, so that the logarithm is finite and not zero.
        uniforms = ((word >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
        return np.asarray(-np.log(uniforms))

    def _word(self, position: int, stream: int, index: int) -> int:
        word = _mix(self._key + stream * _GOLDEN)
        word = _mix(word + index * _GOLDEN)
        return _mix(word + position * _GOLDEN)


def _mix(word: int) -> int:
    word = (word + _GOLDEN) & _MASK
    word = ((word ^ (word >> 30)) * _MIX_1) & _MASK
    word = ((word ^ (word >> 27)) * _MIX_2) & _MASK
    return word ^ (word >> 31)
