"""Tokens → text: torn characters, long tokens, stop strings across tokens."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from specdec_cli.engine.output import TextStream
from tests.support.toy import ToyText


def stream(tokens: list[int], *stop: str) -> tuple[list[str], str | None]:
    text = TextStream(ToyText(), stop)
    parts = []
    for token in tokens:
        parts += [piece.text for piece in text.push(token, False)]
        if text.stopped_by:
            break
    parts += [piece.text for piece in text.finish()]
    return parts, text.stopped_by


def test_characters_that_span_tokens_come_out_whole() -> None:
    parts, _ = stream([1, 28, 29, 30, 31, 2])
    assert parts == ["a", "\N{GRINNING FACE}", "\N{HANGUL SYLLABLE HAN}", "b"]


def test_an_unfinished_character_at_the_end_is_dropped_not_torn() -> None:
    assert stream([1, 28])[0] == ["a"]


def test_a_long_token_is_whole() -> None:
    assert stream([32])[0] == ["a token of more than thirty-two bytes, whole"]


def test_a_stop_string_spanning_tokens_cuts_the_text_before_it() -> None:
    parts, stopped_by = stream([1, 33, 34, 2], "STOP")
    assert "".join(parts) == "a"
    assert stopped_by == "STOP"


def test_text_that_only_looked_like_a_stop_string_comes_out() -> None:
    parts, stopped_by = stream([1, 33, 2], "STOP")
    assert "".join(parts) == "aSTOb"
    assert stopped_by is None


def test_held_text_is_given_at_the_end() -> None:
    assert "".join(stream([1, 33], "STOP")[0]) == "aSTO"


def test_pieces_say_which_token_completed_them() -> None:
    text = TextStream(ToyText(), ("STOP",))
    pieces = [*text.push(1, True), *text.push(33, True), *text.push(2, False), *text.finish()]
    assert [(piece.text, piece.drafted) for piece in pieces] == [("a", True), ("STO", True), ("b", False)]


@given(
    st.lists(st.integers(1, 34), max_size=30),
    st.lists(st.text("abSTOP ", min_size=1, max_size=4), max_size=3),
)
def test_streaming_equals_cutting_the_whole_text(tokens: list[int], stops: list[str]) -> None:
    whole = b"".join(ToyText().piece(token) for token in tokens).decode("utf-8", "replace")
    parts, stopped_by = stream(tokens, *stops)
    ends = [at for stop in stops if (at := whole.find(stop)) >= 0]
    if "\N{REPLACEMENT CHARACTER}" in whole:
        return  # bytes that are no text: what to show for them is free
    assert "".join(parts) == (whole[: min(ends)] if ends else whole)
    assert (stopped_by is not None) == bool(ends)


def test_the_earliest_stop_string_wins_whatever_their_order() -> None:
    for stops in itertools.permutations(["b", "ab", "cab"]):
        assert "".join(stream([3, 1, 2], *stops)[0]) == ""
