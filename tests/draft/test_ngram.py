from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_cli.draft.ngram import NgramDrafter, common_prefix
from specdec_cli.draft.ngram_index import LONGEST_MATCH, NgramIndex
from specdec_cli.draft.plain import PlainDrafter
from specdec_cli.draft.values import Budget, Draft, Outcome

few_tokens = st.lists(st.integers(0, 3), max_size=80)
many_tokens = st.lists(st.integers(0, 40), max_size=120)


def drafter_on(text: list[int], **options: int) -> NgramDrafter:
    drafter = NgramDrafter(**options)
    drafter.begin(text)
    return drafter


def occurrences(text: list[int], length: int) -> list[int]:
    tail = text[len(text) - length :]
    return [end for end in range(length, len(text)) if text[end - length : end] == tail]


def longest_by_search(text: list[int]) -> int:
    return max(
        (n for n in range(1, min(LONGEST_MATCH, len(text) - 1) + 1) if occurrences(text, n)), default=0
    )


@given(few_tokens)
def test_a_match_is_a_match_and_cannot_be_made_longer(text: list[int]) -> None:
    index = NgramIndex()
    index.extend(text)
    match = index.longest_match()
    if match is None:
        assert longest_by_search(text) < 2 or len(occurrences(text, 2)) > 4
        return
    assert 2 <= match.length <= LONGEST_MATCH
    for end in match.ends:
        assert end in occurrences(text, match.length)
        if match.length < LONGEST_MATCH:
            assert end not in occurrences(text, match.length + 1)
    assert list(match.ends) == sorted(match.ends, reverse=True)


@given(many_tokens)
def test_the_longest_match_is_found_where_grams_are_not_too_frequent(text: list[int]) -> None:
    index = NgramIndex()
    index.extend(text)
    if len(text) >= 2 and len(occurrences(text, 2)) <= 4:
        match = index.longest_match()
        longest = longest_by_search(text)
        assert (match.length if match else 0) == (longest if longest >= 2 else 0)


@given(few_tokens, few_tokens, st.integers(0, 80))
def test_truncating_leaves_the_index_as_if_the_tokens_had_never_been_added(
    text: list[int], more: list[int], cut: int
) -> None:
    index, fresh = NgramIndex(), NgramIndex()
    index.extend(text)
    index.truncate(min(cut, len(text)))
    fresh.extend(text[:cut])
    index.extend(more)
    fresh.extend(more)
    assert index._levels == fresh._levels
    assert index.tokens == fresh.tokens
    assert index.longest_match() == fresh.longest_match()


@given(st.lists(few_tokens, min_size=1, max_size=4))
def test_growing_token_by_token_finds_what_a_fresh_index_finds(pieces: list[list[int]]) -> None:
    grown, text = NgramIndex(), list[int]()
    for piece in pieces:
        for token in piece:
            grown.extend([token])
            text.append(token)
            fresh = NgramIndex()
            fresh.extend(text)
            wanted, found = fresh.longest_match(), grown.longest_match()
            assert found == wanted or len(occurrences(text, 2)) > 4


def test_the_longest_match_wins_over_a_more_recent_shorter_one() -> None:
    text = [1, 2, 3, 4, 50, 9, 9, 3, 4, 60, 8, 8, 1, 2, 3, 4]
    assert drafter_on(text).propose(Budget(1)).tokens == (50,)


def test_the_most_frequent_continuation_wins_and_the_most_recent_on_a_tie() -> None:
    often = [1, 2, 50, 7, 1, 2, 50, 8, 1, 2, 60, 9, 1, 2]
    assert drafter_on(often).propose(Budget(1)).tokens == (50,)
    tie = [1, 2, 50, 7, 1, 2, 60, 9, 1, 2]
    assert drafter_on(tie).propose(Budget(1)).tokens == (60,)


def test_occurrences_that_were_outvoted_have_no_later_say() -> None:
    text = [1, 2, 50, 71, 0, 1, 2, 60, 72, 3, 1, 2, 60, 72, 4, 1, 2]
    assert drafter_on(text).propose(Budget(2)).tokens == (60, 72)


def test_a_repeating_pattern_is_drafted_to_the_full_length() -> None:
    drafter = drafter_on([5, 6, 7] * 12)
    draft = drafter.propose(Budget(100))
    assert draft.tokens == tuple([5, 6, 7] * 11)[:32]
    assert draft.parents == tuple(range(-1, 31))
    assert draft.source == "ngram"


def test_the_budget_bounds_the_draft() -> None:
    drafter = drafter_on([5, 6, 7] * 12)
    assert len(drafter.propose(Budget(4))) == 4
    assert drafter.propose(Budget(0)) == Draft()
    asked: list[int] = []

    def keep_going(drafted: int, confidence: float) -> bool:
        asked.append(drafted)
        assert 0 < confidence < 1
        return drafted < 3

    assert len(drafter.propose(Budget(10, keep_going))) == 3
    assert asked == [1, 2, 3]


def test_no_match_no_draft() -> None:
    assert drafter_on([1, 2, 3, 4]).propose(Budget(8)) == Draft()
    assert drafter_on([]).propose(Budget(8)) == Draft()


def test_short_matches_are_left_alone_when_told_so() -> None:
    text = [1, 2, 50, 7, 1, 2]
    assert drafter_on(text, min_match=3).propose(Budget(4)) == Draft()
    assert drafter_on(text, min_match=2).propose(Budget(1)).tokens == (50,)
    assert drafter_on([1, 50, 7, 1], min_match=1).propose(Budget(1)).tokens == (50,)


def test_only_committed_tokens_enter_the_text() -> None:
    drafter = drafter_on([1, 2, 3, 4, 1, 2])
    draft = drafter.propose(Budget(4))
    assert draft.tokens[:2] == (3, 4)
    drafter.accept(Outcome(draft, (0,), (3, 9)))
    assert drafter._index.tokens == [1, 2, 3, 4, 1, 2, 3, 9]
    drafter.observe([1, 2])
    assert drafter.propose(Budget(1)).tokens == (3,)


def test_a_chat_turn_keeps_the_common_prefix() -> None:
    drafter = drafter_on([1, 2, 3, 4, 5])
    drafter.begin([1, 2, 3, 9, 1, 2])
    assert drafter._index.tokens == [1, 2, 3, 9, 1, 2]
    assert drafter.propose(Budget(2)).tokens == (3, 9)


def test_confidence_follows_success_also_of_drafts_that_were_not_used() -> None:
    drafter = drafter_on([1, 2, 3] * 3)
    before = drafter.propose(Budget(1)).confidences[0]
    for _ in range(40):
        drafter.propose(Budget(1))
        drafter.observe([drafter._index.tokens[-3]])
    right = drafter.propose(Budget(1)).confidences[0]
    assert right > max(before, 0.95)
    generator = random.Random(1)
    for _ in range(200):
        drafter.observe([generator.randrange(3)])
        drafter.propose(Budget(1))
    drafter.observe([90, 1, 2])
    assert drafter.propose(Budget(1)).confidences[0] < 0.7


def test_a_token_that_a_stop_cut_off_counts_neither_way() -> None:
    drafter = drafter_on([1, 2, 3, 4, 5, 1, 2])
    draft = drafter.propose(Budget(3))
    record = list(drafter._record.success)
    drafter.accept(Outcome(draft, (0,), (3,)))
    changed = [
        i for i, (old, new) in enumerate(zip(record, drafter._record.success, strict=True)) if old != new
    ]
    assert len(changed) == 1


def test_the_cost_per_token_does_not_grow_with_the_context() -> None:
    """Compares with itself at 16 times the context, at a factor that noise does not reach."""

    def seconds_per_token(context: int) -> float:
        generator = random.Random(0)
        drafter = drafter_on([generator.randrange(5000) for _ in range(context)])
        text = [generator.randrange(5000) for _ in range(500)]
        best = 1.0
        for start in range(0, 500, 50):
            begun = time.perf_counter()
            for token in text[start : start + 50]:
                drafter.accept(Outcome(drafter.propose(Budget(32)), (), (token,)))
            best = min(best, (time.perf_counter() - begun) / 50)
        return best

    assert seconds_per_token(32_000) < 3 * seconds_per_token(2_000)


@pytest.mark.parametrize(
    ("left", "right", "shared"),
    [([], [1], 0), ([1, 2], [1, 2], 2), ([1, 2, 3], [1, 4, 3], 1), ([1], [1, 2], 1)],
)
def test_common_prefix(left: list[int], right: list[int], shared: int) -> None:
    assert common_prefix(left, right) == shared


def test_the_plain_drafter_never_drafts() -> None:
    drafter = PlainDrafter()
    drafter.begin([1, 1, 1, 1])
    drafter.observe([1, 1])
    assert drafter.propose(Budget(8)) == Draft()
    drafter.accept(Outcome(Draft(), (), (1,)))
    drafter.close()
    drafter.close()
