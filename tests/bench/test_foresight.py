"""The bound: against hand-counted texts, and against every policy there is on short ones."""

from __future__ import annotations

import itertools
import random

import pytest

from specdec_cli.bench.foresight import best_of_recordings, best_possible, tokens_right
from specdec_cli.bench.rounds import Recording
from specdec_cli.bench.values import RoundRecord


def played(drafted: int, accepted: int, tokens: int | None = None) -> RoundRecord:
    return RoundRecord(
        1 + drafted, 0.0, 0.0, drafted, accepted, accepted + 1 if tokens is None else tokens, "model"
    )


def test_what_a_draft_would_have_had_right_follows_from_the_rounds() -> None:
    rounds = [played(4, 2), played(4, 0), played(4, 4), played(0, 0), played(4, 3, tokens=3)]
    assert tokens_right(rounds) == [
        *(True, True, False),
        False,
        *(True, True, True, True, True),  # after a full draft nobody knows: it counts as right
        False,
        *(True, True, True),  # the answer ended inside this round
    ]


def test_without_right_tokens_plain_decoding_is_best() -> None:
    bound = best_possible({"model": [False] * 10}, lambda rows: 1.0 + 0.1 * (rows - 1), {"model": 0.2}, 8)
    assert (bound.tokens, bound.rounds, bound.drafted) == (10, 10, 0)
    assert bound.speedup == 1.0


def test_on_a_flat_curve_with_free_drafts_every_round_is_as_long_as_it_may_be() -> None:
    bound = best_possible({"ngram": [True] * 12}, lambda _rows: 1.0, {"ngram": 0.0}, 3)
    assert (bound.rounds, bound.drafted) == (3, 9)
    assert bound.speedup == 4.0


def test_wrong_tokens_are_drafted_where_more_rows_cost_less() -> None:
    costs = {1: 1.0, 2: 1.8, 3: 1.7, 4: 1.2}
    bound = best_possible({"ngram": [True, False] * 4}, costs.__getitem__, {"ngram": 0.0}, 3)
    # Right tokens alone would take two rows; two wrong ones beside them make it four, which is faster.
    assert bound.best_seconds == pytest.approx(3 * 1.2 + 1.8)


def test_a_cliff_is_not_climbed() -> None:
    bound = best_possible({"model": [True] * 12}, lambda rows: 1.0 if rows == 1 else 20.0, {"model": 0.1}, 8)
    assert bound.speedup == 1.0


def test_the_cheaper_drafter_is_taken_where_both_are_right() -> None:
    right = {"model": [True] * 6, "ngram": [True] * 6}
    both = best_possible(right, lambda _rows: 1.0, {"model": 0.3, "ngram": 0.0}, 5)
    alone = best_possible({"ngram": [True] * 6}, lambda _rows: 1.0, {"ngram": 0.0}, 5)
    assert both == alone


@pytest.mark.parametrize("seed", range(12))
def test_no_sequence_of_rounds_is_faster(seed: int) -> None:
    chance = random.Random(seed)
    length, longest = 6, 3
    right = [chance.random() < 0.7 for _ in range(length)]
    costs = [0.0, 1.0, *(chance.uniform(0.8, 2.5) for _ in range(longest))]
    step = chance.uniform(0.0, 0.4)

    def seconds(lengths: tuple[int, ...]) -> float:
        position, total = 0, 0.0
        for wish in lengths:
            drafted, accepted = min(wish, length - position - 1), 0
            while accepted < drafted and right[position + accepted]:
                accepted += 1
            total += drafted * step + costs[1 + drafted]
            position += accepted + 1
            if position == length:
                break
        return total

    bound = best_possible({"model": right}, lambda rows: costs[rows], {"model": step}, longest)
    fastest = min(seconds(way) for way in itertools.product(range(longest + 1), repeat=length))
    assert bound.best_seconds == pytest.approx(fastest)


def test_several_answers_add_up_and_unlike_ones_are_left_out() -> None:
    recorded = [
        Recording("code", 0, "model:2", (played(2, 2), played(2, 2))),
        Recording("code", 0, "ngram:2", tuple(played(2, 0) for _ in range(6))),
        Recording("code", 1, "model:2", (played(2, 0),)),
        Recording("code", 1, "ngram:2", (played(2, 0), played(2, 0))),
        Recording("code", 2, "model:2", (played(2, 0),)),
        Recording("code", 2, "plain", (played(0, 0),)),
    ]
    variants = {"model:2": "model", "ngram:2": "ngram"}
    bound = best_of_recordings(recorded, variants, lambda _rows: 1.0, {"model": 0.25, "ngram": 0.0}, 2)
    assert bound is not None
    assert (bound.tokens, bound.plain_seconds, bound.best_seconds) == (6, 6.0, 3.0)
    assert best_of_recordings(recorded, {"model:9": "model"}, lambda _rows: 1.0, {"model": 0.0}, 2) is None


def test_drafters_of_different_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        best_possible({"a": [True], "b": [True, True]}, lambda _rows: 1.0, {"a": 0.0, "b": 0.0}, 2)
