"""A probability distribution over tokens: the one value that samplers, drafters and judges exchange."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

TokenIds = npt.NDArray[np.int64]
Probabilities = npt.NDArray[np.float64]

_BLOCK = 512
"""Width of the first level of the two-level search that draws from a whole vocabulary."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """Probabilities over candidate tokens.

    `tokens`: int64 ids, each once, shape (n,); or None when the distribution is dense: the index is the id.
    `probabilities`: float64, shape (n,), none negative, summing to 1 within rounding.
    The order of the candidates is part of the value: `draw` runs through them as they stand. A `Sampler`
    delivers candidates by descending probability (ties: smaller id first), and a dense row by id.
    """

    tokens: TokenIds | None
    probabilities: Probabilities

    @classmethod
    def point_mass(cls, token: int) -> Distribution:
        """All probability on one token: what a deterministic choice amounts to."""
        return cls(tokens=np.array([token], dtype=np.int64), probabilities=np.ones(1))

    def __len__(self) -> int:
        """Number of candidates, those of zero probability included."""
        return len(self.probabilities)

    def token_at(self, index: int) -> int:
        """The token id of the candidate at `index`."""
        return index if self.tokens is None else int(self.tokens[index])

    def probability(self, token: int) -> float:
        """Probability of one token; 0 for one that is not among the candidates."""
        if self.tokens is None:
            return float(self.probabilities[token]) if 0 <= token < len(self.probabilities) else 0.0
        found = np.flatnonzero(self.tokens == token)
        return float(self.probabilities[found[0]]) if len(found) else 0.0

    def probabilities_of(self, tokens: TokenIds | None, count: int) -> Probabilities:
        """Probabilities of `tokens` (None: of the ids 0 … count - 1), 0 where it has no such candidate.

        The two distributions compared may come from vocabularies of different size.
        """
        result = np.zeros(count)
        if tokens is None:
            if self.tokens is None:
                shared = min(count, len(self.probabilities))
                result[:shared] = self.probabilities[:shared]
            else:
                inside = self.tokens < count
                result[self.tokens[inside]] = self.probabilities[inside]
        elif self.tokens is None:
            inside = tokens < len(self.probabilities)
            result[inside] = self.probabilities[tokens[inside]]
        else:
            by_id = np.argsort(self.tokens)
            ids = self.tokens[by_id]
            place = np.minimum(np.searchsorted(ids, tokens), len(ids) - 1)
            result = np.where(ids[place] == tokens, self.probabilities[by_id[place]], 0.0)
        return result

    def draw(self, uniform: float) -> int:
        """The token at which the running sum of probabilities passes `uniform` (0 ≤ uniform < 1).

        Never a token of probability zero, never past the last candidate, whatever the rounding of the sum.
        """
        if len(self.probabilities) <= _BLOCK:
            return self.token_at(_passes(self.probabilities, uniform * float(np.sum(self.probabilities))))
        starts = np.arange(0, len(self.probabilities), _BLOCK)
        block_sums = np.add.reduceat(self.probabilities, starts)
        mark = uniform * float(np.sum(block_sums))
        block = _passes(block_sums, mark)
        start = block * _BLOCK
        rest = mark - float(np.sum(block_sums[:block]))
        return self.token_at(start + _passes(self.probabilities[start : start + _BLOCK], rest))


def _passes(weights: Probabilities, mark: float) -> int:
    """First index whose running sum is greater than `mark`; the last positive weight when none is."""
    running = np.cumsum(weights)
    index = int(np.searchsorted(running, mark, side="right"))
    return index if index < len(weights) else int(np.flatnonzero(weights)[-1])
