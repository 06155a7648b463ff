"""Grammars of finite languages, generated together with every text they admit; and texts fed byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from hypothesis import strategies as st

from specdec_cli.protocols import Constraint, TokenText

Language = frozenset[str]
MOST_TEXTS = 60


def _literal(text: str) -> tuple[str, Language]:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"', frozenset([text])


def _one_of(letters: str) -> tuple[str, Language]:
    return "[" + letters.replace("\\", "\\\\").replace("]", "\\]") + "]", frozenset(letters)


LEAVES = st.one_of(
    st.sampled_from(["", "a", "b", "ab", "the", "é", "한", "😀", '"', "\\", "\n", "in the"]).map(_literal),
    st.sampled_from(["ab", "aé한", "]x", "t "]).map(_one_of),
)


def _sequence(parts: list[tuple[str, Language]]) -> tuple[str, Language]:
    texts = frozenset("".join(choice) for choice in product(*(language for _, language in parts)))
    return " ".join(text for text, _ in parts), texts


def _alternatives(parts: list[tuple[str, Language]]) -> tuple[str, Language]:
    return "(" + " | ".join(text for text, _ in parts) + ")", frozenset().union(
        *(texts for _, texts in parts)
    )


def _repeated(part: tuple[str, Language], least: int, more: int) -> tuple[str, Language]:
    text, language = part
    found: set[str] = set()
    for count in range(least, least + more + 1):
        found |= {"".join(choice) for choice in product(language, repeat=count)}
    return f"({text}){{{least},{least + more}}}", frozenset(found)


def finite_grammars() -> st.SearchStrategy[tuple[str, Language]]:
    """(grammar text, all its texts), at least one of them not empty and not too many."""
    expressions = st.recursive(
        LEAVES,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(_sequence),
            st.lists(inner, min_size=1, max_size=3).map(_alternatives),
            st.builds(_repeated, inner, st.integers(0, 2), st.integers(0, 1)),
        ).filter(lambda made: len(made[1]) <= MOST_TEXTS),
        max_leaves=6,
    )
    return expressions.filter(lambda made: any(made[1])).map(lambda made: (f"root ::= {made[0]}\n", made[1]))


def tokens_for(text: bytes, vocabulary: TokenText, cuts: Sequence[int] = ()) -> list[int]:
    """Tokens that write `text`: one per byte, or longer ones where `cuts` asks for (lengths, used in turn)."""
    by_bytes: dict[bytes, int] = {}
    for token in range(vocabulary.n_vocab):
        by_bytes.setdefault(vocabulary.piece(token), token)
    tokens, start, turn = [], 0, 0
    while start < len(text):
        wish = cuts[turn % len(cuts)] if cuts else 1
        turn += 1
        length = next(size for size in range(wish, 0, -1) if text[start : start + size] in by_bytes)
        tokens.append(by_bytes[text[start : start + length]])
        start += min(length, len(text) - start)
    return tokens


def accepts(constraint: Constraint, tokens: Sequence[int]) -> bool:
    """Whether the constraint takes the tokens one after another, and lets the text end there."""
    state = constraint.fork()
    for token in tokens:
        if not state.allowed(np.array([token]))[0]:
            return False
        state.accept(token)
    return state.complete
