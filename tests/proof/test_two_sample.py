"""The two-sample test: its false-alarm rate is what it says, and it sees what is there to be seen."""

from __future__ import annotations

import numpy as np
import pytest

from specdec_cli.proof import two_sample
from specdec_cli.proof.two_sample import ENDED, RARE, compare


def draw(
    random: np.random.Generator, weights: list[float], count: int, length: int = 3
) -> list[tuple[int, ...]]:
    """Answers whose tokens depend on one another: the second is mostly the first again."""
    first = random.choice(len(weights), size=count, p=np.array(weights) / sum(weights))
    again = np.where(random.random(count) < 0.8, first, random.integers(0, len(weights), count))
    return [(int(one), int(two), int(two)) for one, two in zip(first, again, strict=True)]


def test_one_distribution_gives_p_values_that_are_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 comparisons of equal distributions. The counts are binomial: 5 expected below 0.05, at most 13 allowed
    (chance of more: 1 in 2000), and 50 expected below a half, 32 to 68 allowed (chance of others: 1 in 5000)."""
    monkeypatch.setattr(two_sample, "PERMUTATIONS", 199)
    random = np.random.default_rng(1)
    values = []
    for _ in range(100):
        pair = draw(random, [5, 3, 2, 1, 1], 60), draw(random, [5, 3, 2, 1, 1], 60)
        values.append(compare([pair], 3, seed=2).p_value)
    assert sum(value <= 0.05 for value in values) <= 13
    assert 32 <= sum(value <= 0.5 for value in values) <= 68


def test_a_shifted_distribution_is_found_and_the_token_named() -> None:
    random = np.random.default_rng(3)
    same = draw(random, [5, 3, 2], 200), draw(random, [5, 3, 2], 200)
    shifted = draw(random, [5, 3, 2], 200), draw(random, [2, 3, 5], 200)
    comparison = compare([same, shifted], 3, seed=0)
    assert comparison.p_value == 1 / 2000
    assert comparison.largest is not None
    assert comparison.largest.prompt == 1
    assert comparison.largest.token in (0, 2)
    assert abs(comparison.largest.first_share - comparison.largest.second_share) > 0.15


def test_equal_samples_never_alarm_and_the_same_seed_gives_the_same_value() -> None:
    answers = [(1, 2), (3,)] * 50
    assert compare([(answers, answers)], 2, seed=0).p_value == 1.0
    random = np.random.default_rng(5)
    pair = draw(random, [1, 1, 1], 50), draw(random, [1, 1, 1], 50)
    assert compare([pair], 3, seed=7) == compare([pair], 3, seed=7)


def test_an_answer_that_ends_early_is_a_difference_too() -> None:
    ended = compare([([(1,)] * 100, [(1, 2)] * 100)], 2, seed=0)
    assert ended.p_value == 1 / 2000
    assert ended.largest is not None
    assert ended.largest.token in (ENDED, 2)


def test_rare_tokens_count_as_one() -> None:
    """One hundred tokens seen once each say nothing by themselves; that they are seen in one sample only does."""
    common, rare = [(0,)] * 100, [(token,) for token in range(1, 101)]
    comparison = compare([(common, common[:50] + rare[:50])], 1, seed=0)
    assert comparison.p_value == 1 / 2000
    assert comparison.largest is not None
    assert comparison.largest.token == RARE
    assert compare([(rare, rare[::-1])], 1, seed=0).p_value == 1.0
