"""The drafter of forced text: what it proposes, under which name, and what it learns."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from specdec_cli.draft.forced import FORCED, LIKELY, ForcedDrafter
from specdec_cli.draft.pieces import PieceIndex
from specdec_cli.draft.values import Budget, Outcome
from tests.support.text_constraint import OneOfTexts

PIECES = [
    b"",
    *(bytes([byte]) for byte in range(256)),
    b"na",
    b"name",
    b'":',
    b' "',
    b'"}',
    "é".encode(),
    b"xyz",
]
TOKENS = {piece: token for token, piece in reversed(list(enumerate(PIECES)))}


class Words:
    """Cuts like a tokenizer: the longest piece each time; with `space`, a space before every text."""

    n_vocab = len(PIECES)

    def __init__(self, space: bool = False) -> None:
        self._space = space

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        return PieceIndex(PIECES).cut((" " if self._space else "").encode() + text.encode())

    def piece(self, token: int) -> bytes:
        return PIECES[token]

    def is_end_of_generation(self, token: int) -> bool:
        return token == 0


def ids(*pieces: bytes) -> tuple[int, ...]:
    return tuple(TOKENS[piece] for piece in pieces)


def after(constraint: OneOfTexts, tokens: Sequence[int]) -> OneOfTexts:
    for token in tokens:
        constraint.accept(token)
    return constraint


def test_text_is_proposed_as_the_tokenizer_cuts_it() -> None:
    drafter = ForcedDrafter(Words())
    drafter.begin([1])
    draft = drafter.propose(Budget(8, constraint=OneOfTexts((b'{"name": "a"}', b'{"name": "b"}'), Words())))
    assert draft.tokens == ids(b"{", b'"', b"name", b'":', b' "')
    assert draft.source == LIKELY
    assert draft.distributions is None
    assert draft.confidences == (1.0, 1.0, 0.9, 0.9, 0.6)


def test_the_only_tokens_are_certain() -> None:
    drafter = ForcedDrafter(Words())
    drafter.begin([1])
    draft = drafter.propose(Budget(8, constraint=OneOfTexts((b"12345",), Words())))
    assert draft.tokens == ids(b"1", b"2", b"3", b"4", b"5")
    assert (draft.source, draft.confidences) == (FORCED, (1.0,) * 5)


def test_a_token_that_goes_on_where_the_text_ends_is_another_choice() -> None:
    constraint = OneOfTexts((b"1x", b"1xyz"), Words())
    drafter = ForcedDrafter(Words())
    drafter.begin([1])
    assert drafter.propose(Budget(8, constraint=constraint)).confidences == (1.0, 0.6)


def test_nothing_where_there_is_a_choice_an_end_or_no_grammar() -> None:
    drafter = ForcedDrafter(Words())
    drafter.begin([1])
    assert len(drafter.propose(Budget(8))) == 0
    assert len(drafter.propose(Budget(8, constraint=OneOfTexts((b"a", b"b"), Words())))) == 0
    assert len(drafter.propose(Budget(0, constraint=OneOfTexts((b"a",), Words())))) == 0
    assert (
        len(drafter.propose(Budget(8, constraint=after(OneOfTexts((b"a", b"ab"), Words()), ids(b"a"))))) == 0
    )


def test_it_goes_on_where_it_was_left() -> None:
    constraint = OneOfTexts((b'{"name": 1}', b'{"name": 2}'), Words())
    drafter = ForcedDrafter(Words())
    drafter.begin([1])
    draft = drafter.propose(Budget(2, constraint=constraint))
    assert draft.tokens == ids(b"{", b'"')
    committed = (*draft.tokens, TOKENS[b"na"])
    drafter.accept(Outcome(draft, (0, 1), committed))
    assert drafter.propose(Budget(8, constraint=after(constraint, committed))).tokens == ids(
        b"m", b"e", b'":', b" "
    )


def test_long_text_is_not_cut_in_the_middle_of_a_token() -> None:
    text = b"name" * 30
    constraint = OneOfTexts((text,), Words())
    drafter = ForcedDrafter(Words())
    drafter.begin([1])
    for _ in range(4):
        draft = drafter.propose(Budget(5, constraint=constraint))
        assert draft.tokens == ids(*[b"name"] * 5)
        after(constraint, draft.tokens)
        drafter.accept(Outcome(draft, (0, 1, 2, 3, 4), draft.tokens))


@pytest.mark.parametrize("space", [False, True])
def test_a_text_that_begins_within_a_character(space: bool) -> None:
    constraint = OneOfTexts(("éé1".encode(),), Words())
    after(constraint, ids("é".encode()[:1]))
    drafter = ForcedDrafter(Words(space))
    drafter.begin([1])
    assert drafter.propose(Budget(8, constraint=constraint)).tokens == ids(b"\xa9", "é".encode(), b"1")


def test_it_learns_where_the_model_cuts_otherwise() -> None:
    drafter = ForcedDrafter(Words())
    proposed = []
    for _ in range(12):
        constraint = OneOfTexts((b'name"}',), Words())
        drafter.begin([1])
        committed = ids(b"na")
        draft = drafter.propose(Budget(8, constraint=constraint))
        proposed.append(len(draft))
        drafter.accept(Outcome(draft, (), committed))
        draft = drafter.propose(Budget(8, constraint=after(constraint, committed)))
        drafter.accept(Outcome(draft, tuple(range(len(draft))), ids(b"m", b"e", b'"}')))
    assert proposed[0] == 2
    assert proposed[-1] == 0


def test_the_index_of_pieces() -> None:
    index = PieceIndex([b"", b"a", b"ab", b"abc", b"b", b"a"])
    assert index.cut(b"abcab") == [3, 2]
    assert index.cut(b"ax") == [1]
    assert index.has_one_beginning(b"b")
    assert index.has_one_beginning(b"bb")
    assert not index.has_one_beginning(b"a")
    assert not index.has_one_beginning(b"ab")
    assert not index.has_one_beginning(b"x")
    assert not PieceIndex([b"b", b"bc"]).has_one_beginning(b"b")
