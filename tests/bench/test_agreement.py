from __future__ import annotations

import pytest

from specdec_cli.bench.agreement import Gap, compare_answers
from specdec_cli.proof.ties import first_difference


@pytest.mark.parametrize(
    ("plain", "other", "index"),
    [((1, 2, 3), (1, 2, 3), None), ((1, 2, 3), (1, 9, 3), 1), ((1, 2), (1, 2, 3), 2), ((), (), None)],
)
def test_the_first_difference(plain: tuple[int, ...], other: tuple[int, ...], index: int | None) -> None:
    assert first_difference(plain, other) == index


def test_only_a_tie_at_the_first_difference_excuses_it() -> None:
    asked: list[tuple[int, tuple[int, int]]] = []

    def gap(index: int, rivals: tuple[int, int]) -> Gap:
        asked.append((index, rivals))
        return Gap(0.01 if index == 1 else 0.3, 0.1)

    assert compare_answers((5, 6), (5, 6), gap) == "same"
    assert asked == []
    assert compare_answers((5, 6, 7), (5, 8, 9), gap) == "tie"
    assert compare_answers((5, 6, 7), (5, 6, 9), gap) == "different"
    assert asked == [(1, (6, 8)), (2, (7, 9))]
    assert compare_answers((5, 6, 7), (5, 6), gap) == "different"


@pytest.mark.parametrize(
    ("size", "noise", "tie"), [(0.04, 0.0, True), (0.06, 0.0, False), (0.3, 0.16, True), (1.1, 5.0, False)]
)
def test_what_rounding_was_seen_to_do_makes_a_tie(size: float, noise: float, tie: bool) -> None:
    assert Gap(size, noise).is_tie == tie
