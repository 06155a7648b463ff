from __future__ import annotations

import pytest

from specdec_cli.bench.agreement import compare_answers, first_difference


@pytest.mark.parametrize(
    ("plain", "other", "index"),
    [((1, 2, 3), (1, 2, 3), None), ((1, 2, 3), (1, 9, 3), 1), ((1, 2), (1, 2, 3), 2), ((), (), None)],
)
def test_the_first_difference(plain: tuple[int, ...], other: tuple[int, ...], index: int | None) -> None:
    assert first_difference(plain, other) == index


def test_only_a_tie_at_the_first_difference_excuses_it() -> None:
    asked: list[tuple[int, tuple[int, int]]] = []

    def gap(index: int, rivals: tuple[int, int]) -> float:
        asked.append((index, rivals))
        return 0.01 if index == 1 else 0.3

    assert compare_answers((5, 6), (5, 6), gap) == "same"
    assert asked == []
    assert compare_answers((5, 6, 7), (5, 8, 9), gap) == "tie"
    assert compare_answers((5, 6, 7), (5, 6, 9), gap) == "different"
    assert asked == [(1, (6, 8)), (2, (7, 9))]
    assert compare_answers((5, 6, 7), (5, 6), gap) == "different"
