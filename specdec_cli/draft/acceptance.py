"""How often drafted tokens are right: by the drafter's own confidence and by position, learned while generating."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from math import sqrt

CONFIDENCE_EDGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.88, 0.94, 0.98)
BUCKETS = len(CONFIDENCE_EDGES) + 1
_CENTRES = (0.06, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.84, 0.91, 0.96, 0.99)
CERTAIN = 0.998
"""No token is taken to be right more often than this."""
UNKNOWN = 0.5
"""Stands for the confidence of a drafter that tells none."""

_POSITION_CLASS = (0, 1, 2, 2, 3, 3, 3, 3, 4)
"""Positions 1, 2, 3 to 4, 5 to 8, and beyond are told apart."""
_POSITIONS = 5

_PRIOR_WEIGHT = 3.0
_POSITION_WEIGHT = 12.0
_MEMORY = 0.99
"""Weight of an observation after one more: about the last hundred count."""
_SHAPE_MEMORY = 0.97
_SHAPE_WEIGHT = 3.0
_LONG_MEMORY = 0.997
_LONG_WEIGHT = 20.0
_SURPRISE_MEMORY = 0.88
_SURPRISING = 3.3
_AFTER_SURPRISE = 0.15
"""When the recent results lie this many standard errors from what was expected, this much of the past is kept."""

_PRIOR_SHAPE = (0.06, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06, 0.07, 0.09, 0.1, 0.12, 0.2)


class AcceptanceModel:
    """The chance that a drafted token is right, given that those before it are.

    `learn` hears of tokens in order up to the first wrong one; a draft that was right to its end is censored:
    it says nothing about the token that would have followed, and nothing is learned about it.
    """

    def __init__(self) -> None:
        self._right = [_PRIOR_WEIGHT * centre for centre in _CENTRES]
        self._seen = [_PRIOR_WEIGHT] * BUCKETS
        self.rates = list(_CENTRES)
        """Per bucket of confidence, the chance to be right."""
        self._position_right = [_POSITION_WEIGHT] * _POSITIONS
        self._position_expected = [_POSITION_WEIGHT] * _POSITIONS
        self._position_factors = [1.0] * _POSITIONS
        self._recent = [_Frequencies(_SHAPE_MEMORY, 0.0) for _ in range(2)]
        self._long = [_Frequencies(_LONG_MEMORY, _LONG_WEIGHT) for _ in range(2)]
        self._surprise = 0.0
        self._surprise_variance = 0.0

    def chance(self, bucket: int, position: int) -> float:
        """For a token in this bucket at a position counted from 0: strictly between 0 and 1."""
        return min(self.rates[bucket] * self.factor(position), CERTAIN)

    def factor(self, position: int) -> float:
        """By how much a token at this position is right more or less often than its confidence says."""
        return self._position_factors[_POSITION_CLASS[position] if position < 8 else 4]

    def learn(self, bucket: int, position: int, right: bool) -> None:
        """One drafted token whose predecessors were right was right, or not."""
        rate = self.rates[bucket]
        prior = _PRIOR_WEIGHT * _CENTRES[bucket]
        self._right[bucket] = prior + (self._right[bucket] - prior) * _MEMORY + right
        self._seen[bucket] = _PRIOR_WEIGHT + (self._seen[bucket] - _PRIOR_WEIGHT) * _MEMORY + 1.0
        self.rates[bucket] = self._right[bucket] / self._seen[bucket]
        self._learn_position(_POSITION_CLASS[position] if position < 8 else 4, rate, right)
        self._note_surprise(self.chance(bucket, position), right)

    def saw(self, buckets: Sequence[int]) -> None:
        """These were the confidences of a draft, up to the first token that turned out wrong."""
        for position, bucket in enumerate(buckets):
            later = 1 if position else 0
            self._recent[later].add(bucket)
            self._long[later].add(bucket)

    def age(self) -> None:
        """A round went by without a draft: what was seen of the text's kind is worth less now."""
        for frequencies in self._recent:
            frequencies.fade()

    def shape(self, later: bool) -> list[float]:
        """How often each bucket of confidence occurs, for the first drafted token or for `later` ones; sums to 1.

        Recent drafts decide; without any, those of long ago.
        """
        recent, usual = self._recent[later].counts(), self._long[later].counts()
        usual_total = sum(usual)
        total = sum(recent) + _SHAPE_WEIGHT
        return [(r + _SHAPE_WEIGHT * u / usual_total) / total for r, u in zip(recent, usual, strict=True)]

    def mean_rate(self) -> float:
        """The chance that a first drafted token is right, over the recent confidences."""
        return sum(share * rate for share, rate in zip(self.shape(False), self.rates, strict=True))

    def _learn_position(self, place: int, rate: float, right: bool) -> None:
        self._position_right[place] = (
            _POSITION_WEIGHT + (self._position_right[place] - _POSITION_WEIGHT) * _MEMORY + right
        )
        self._position_expected[place] = (
            _POSITION_WEIGHT + (self._position_expected[place] - _POSITION_WEIGHT) * _MEMORY + rate
        )
        self._position_factors[place] = self._position_right[place] / self._position_expected[place]

    def _note_surprise(self, chance: float, right: bool) -> None:
        """Forget most of the past when the results stopped agreeing with it."""
        self._surprise = self._surprise * _SURPRISE_MEMORY + (right - chance)
        self._surprise_variance = self._surprise_variance * _SURPRISE_MEMORY**2 + chance * (1.0 - chance)
        if abs(self._surprise) > _SURPRISING * sqrt(self._surprise_variance + 0.3):
            for bucket in range(BUCKETS):
                prior = _PRIOR_WEIGHT * _CENTRES[bucket]
                self._right[bucket] = prior + (self._right[bucket] - prior) * _AFTER_SURPRISE
                self._seen[bucket] = _PRIOR_WEIGHT + (self._seen[bucket] - _PRIOR_WEIGHT) * _AFTER_SURPRISE
                self.rates[bucket] = self._right[bucket] / self._seen[bucket]
            self._surprise = self._surprise_variance = 0.0


class _Frequencies:
    """Discounted counts per bucket. Instead of all counts shrinking, the unit that is added grows."""

    def __init__(self, memory: float, prior_weight: float) -> None:
        self._memory = memory
        self._unit = 1.0
        self._counts = [prior_weight * share for share in _PRIOR_SHAPE]

    def add(self, bucket: int) -> None:
        self.fade()
        self._counts[bucket] += self._unit

    def fade(self) -> None:
        self._unit /= self._memory
        if self._unit > 1e9:
            self._counts = self.counts()
            self._unit = 1.0

    def counts(self) -> list[float]:
        return [count / self._unit for count in self._counts]


def bucket_of(confidence: float) -> int:
    """The bucket of a confidence in 0 … 1."""
    return bisect(CONFIDENCE_EDGES, confidence)
