"""Two token lists, id by id: what differs, and of what kind the difference is.

Equal lists cost one comparison of their buffers. Only where those differ is anything decoded.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import ne
from typing import Literal

from specdec_cli.compat.report import TokenDifference, VocabularySummary
from specdec_cli.gguf.problems import printable
from specdec_cli.gguf.types import TokenType
from specdec_cli.gguf.vocabulary import Vocabulary

SHOWN_DIFFERENCES = 3

DifferenceKind = Literal["none", "reserved", "special", "ordinary"]
"""The worst kind among the ids whose text differs.

`reserved`: at each of them one file has a placeholder. `special`: all are control tokens or placeholders.
`ordinary`: at least one is a piece of text, so the two lists are different tokenizers.
"""

_PLACEHOLDER = re.compile(
    rb"[\[<]\|?_?(pad|unused|reserved|dummy|placeholder|special|extra|control|filler|padding)"
    rb"[a-z_ ]*[-_]?\d+\|?[\]>]",
    re.IGNORECASE,
)
_MODALITY = re.compile(rb"[\[<].*(image|img|audio|video|vision).*[\]>]", re.IGNORECASE)
_BRACKETED = re.compile(rb"<[|\xef].*>|</?[a-z0-9_ -]+>|\[/?[A-Z_]+\]|\xe2\x96\x81<[A-Z]+>", re.IGNORECASE)


@dataclass(frozen=True)
class TokenComparison:
    """What comparing two lists found, for the findings that are made of it."""

    summary: VocabularySummary
    kind: DifferenceKind
    different_ids: tuple[int, ...]
    """Ids whose text differs; empty for kind `ordinary`, where they may be a quarter of a million."""
    type_ids: tuple[int, ...]
    """Ids with the same text and different types."""
    extra_ids: tuple[int, ...]
    """Ids that only the longer list has and that are neither placeholders nor for images or sound."""


def compare_tokens(target: Vocabulary, draft: Vocabulary) -> TokenComparison:
    """Compare two vocabularies id by id: texts first, then types, then what only the longer one has."""
    shared = min(target.n_tokens, draft.n_tokens)
    count, kind, different_ids = _compare_texts(target, draft, shared)
    type_ids = () if kind == "ordinary" else _different_types(target, draft, shared, set(different_ids))
    longer = target if target.n_tokens > draft.n_tokens else draft
    tail = range(shared, shared if kind == "ordinary" else longer.n_tokens)
    padding = sum(1 for token in tail if is_placeholder(longer, token))
    shown = _first_different(target, draft) if count else type_ids
    summary = VocabularySummary(
        target_size=target.n_tokens,
        draft_size=draft.n_tokens,
        different_texts=count,
        different_types=len(type_ids),
        first_differences=tuple(_difference(target, draft, t) for t in islice(shown, SHOWN_DIFFERENCES)),
        padding=padding,
    )
    extra = tuple(
        t for t in tail if not is_placeholder(longer, t) and not _MODALITY.fullmatch(longer.tokens[t])
    )
    return TokenComparison(summary, kind, different_ids, type_ids, extra)


def is_placeholder(vocabulary: Vocabulary, token: int) -> bool:
    """Whether an entry only fills the list up: typed as unused, or spelled like `<unused7>` or `[PAD7]`."""
    return (
        vocabulary.type_of(token) == TokenType.UNUSED
        or _PLACEHOLDER.fullmatch(vocabulary.tokens[token]) is not None
    )


def is_special(vocabulary: Vocabulary, token: int) -> bool:
    """Whether an entry is a control token by its type or by its looks: `<|im_start|>`, `[INST]`."""
    return (
        vocabulary.type_of(token) in (TokenType.CONTROL, TokenType.USER_DEFINED, TokenType.UNKNOWN)
        or _BRACKETED.fullmatch(vocabulary.tokens[token]) is not None
    )


def token_type_name(number: int | None) -> str | None:
    """`control`, or `type 9` for a number GGUF does not define."""
    if number is None:
        return None
    try:
        return TokenType(number).name.lower()
    except ValueError:
        return f"type {number}"


def shown(vocabulary: Vocabulary, token: int | None) -> str:
    """A token for a message: ``151645 `<|im_end|>` ``, or `none`."""
    return "none" if token is None else f"{token} `{printable(vocabulary.tokens[token], 40)}`"


def _compare_texts(
    target: Vocabulary, draft: Vocabulary, shared: int
) -> tuple[int, DifferenceKind, tuple[int, ...]]:
    if _same_buffers(target, draft, shared):
        return 0, "none", ()
    kind: DifferenceKind = "none"
    different: list[int] = []
    for token in _first_different(target, draft):
        if is_placeholder(target, token) or is_placeholder(draft, token):
            kind = "reserved" if kind == "none" else kind
        elif is_special(target, token) and is_special(draft, token):
            kind = "special"
        else:
            return sum(map(ne, target.tokens, draft.tokens)), "ordinary", ()
        different.append(token)
    return len(different), kind, tuple(different)


def _same_buffers(target: Vocabulary, draft: Vocabulary, shared: int) -> bool:
    """Whether the first `shared` tokens are the same: each lies behind its own length, so equal bytes are enough."""
    end = target.tokens.ends[shared - 1] if shared else 0
    return memoryview(target.tokens.serialized)[:end] == memoryview(draft.tokens.serialized)[:end]


def _first_different(target: Vocabulary, draft: Vocabulary) -> Iterator[int]:
    return (token for token, (a, b) in enumerate(zip(target.tokens, draft.tokens, strict=False)) if a != b)


def _different_types(target: Vocabulary, draft: Vocabulary, shared: int, skip: set[int]) -> tuple[int, ...]:
    if target.types is None or draft.types is None or _same_types(target.types, draft.types, shared):
        return ()
    pairs: Iterable[tuple[int, int]] = zip(target.types, draft.types, strict=False)
    return tuple(
        token
        for token, (a, b) in enumerate(islice(pairs, shared))
        if a != b
        and token not in skip
        and not is_placeholder(target, token)
        and not is_placeholder(draft, token)
    )


def _same_types(target: array[int], draft: array[int], shared: int) -> bool:
    if target.typecode != draft.typecode:
        return False
    size = shared * target.itemsize
    return memoryview(target).cast("B")[:size] == memoryview(draft).cast("B")[:size]


def _difference(target: Vocabulary, draft: Vocabulary, token: int) -> TokenDifference:
    return TokenDifference(
        token=token,
        target_text=printable(target.tokens[token], 40),
        draft_text=printable(draft.tokens[token], 40),
        target_type=token_type_name(target.type_of(token)),
        draft_type=token_type_name(draft.type_of(token)),
    )
