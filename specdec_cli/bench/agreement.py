"""Are two greedy answers the same, and if not, does a tie excuse it?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specdec_cli.bench.values import Agreement
from specdec_cli.proof.ties import first_difference, tie_threshold

LEAST_TIE = 0.05
"""Two logits closer than this are always a tie: their order may depend on how many rows a batch has, since the native
sums are then taken in another order."""


@dataclass(frozen=True)
class Gap:
    """How far apart the logits of two tokens are, and how far batches were seen to move such distances there."""

    size: float
    noise: float

    @property
    def is_tie(self) -> bool:
        """Whether rounding can turn the choice; as `specdec verify` judges it."""
        return self.size <= max(LEAST_TIE, tie_threshold(self.noise))


def compare_answers(
    plain: Sequence[int], other: Sequence[int], gap_at: Callable[[int, tuple[int, int]], Gap]
) -> Agreement:
    """`gap_at(index, (token, token))`: how far apart the target has two tokens at an index of the answer.

    Answers hold the token that ended them, so that one which ended where the other went on differs by it.
    """
    index = first_difference(plain, other)
    if index is None:
        return "same"
    if index >= min(len(plain), len(other)):
        return "different"  # one was broken off
    return "tie" if gap_at(index, (plain[index], other[index])).is_tie else "different"
