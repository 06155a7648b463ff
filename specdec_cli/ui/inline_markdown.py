"""Markdown inside a line: emphasis, code, links. Works on text that is still arriving."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rich.style import Style

STRONG = Style(bold=True)
EMPHASIS = Style(italic=True)
STRIKE = Style(strike=True)
CODE = Style(color="cyan")
LINK = Style(underline=True)
ADDRESS = Style(dim=True)

_MARKS = re.compile(r"[\\`*_~\[!]")
_ESCAPED = set("\\`*_~#+-.!|>{}")
_LONGEST_HOLD = 240
"""Characters to wait for the end of a mark before it is taken for what it literally is."""


@dataclass(frozen=True)
class Span:
    """A piece of a line in one style."""

    text: str
    style: Style


def take_spans(text: str, complete: bool, before: str = "") -> tuple[list[Span], int]:
    """The spans that `text` begins with and cannot change any more, and how many characters they took.

    `complete`: nothing more comes on this line. `before`: the character before `text`.
    """
    spans: list[Span] = []
    position = 0
    while position < len(text):
        found = _MARKS.search(text, position)
        start = found.start() if found else len(text)
        if start > position:
            spans.append(Span(text[position:start], Style.null()))
            position = start
            continue
        previous = text[position - 1] if position else before
        taken = _take_mark(text[position:], complete, previous)
        if taken is None:
            break
        more, size = taken
        spans += more
        position += size
    return spans, position


def all_spans(text: str) -> list[Span]:
    """The spans of a whole line."""
    return take_spans(text, complete=True)[0]


def _take_mark(text: str, complete: bool, previous: str) -> tuple[list[Span], int] | None:
    """What the mark at the beginning of `text` means; None while that is open."""
    complete = complete and len(text) <= _LONGEST_HOLD
    text = text[:_LONGEST_HOLD]
    for take in (_escape, _code, _link, _emphasis):
        taken = take(text, complete, previous)
        if taken == _OPEN:
            if not complete and len(text) < _LONGEST_HOLD:
                return None
        elif taken is not None:
            return taken
    run = _run_length(text) if text[0] in "`*_~" else 1
    return [Span(text[:run], Style.null())], run


_Taken = tuple[list[Span], int]
_OPEN: _Taken = ([], 0)
"""It may become a mark when more text comes; on a complete line it is none."""


def _run_length(text: str) -> int:
    """How often the first character is repeated."""
    return len(text) - len(text.lstrip(text[0]))


def _escape(text: str, _complete: bool, _previous: str) -> _Taken | None:
    if text[0] != "\\":
        return None
    if len(text) < 2:
        return _OPEN
    return ([Span(text[1], Style.null())], 2) if text[1] in _ESCAPED else None


def _code(text: str, complete: bool, _previous: str) -> _Taken | None:
    if text[0] != "`":
        return None
    fence = text[: _run_length(text)]
    closing = re.compile(rf"(?<!`){fence}(?!`)").search(text, len(fence))
    if closing is None or (closing.end() == len(text) and not complete):
        return _OPEN
    inner = text[len(fence) : closing.start()]
    if inner.startswith(" ") and inner.endswith(" ") and inner.strip():
        inner = inner[1:-1]
    return [Span(inner, CODE)], closing.end()


def _link(text: str, _complete: bool, _previous: str) -> _Taken | None:
    if text[0] not in "![":
        return None
    if text == "!":
        return _OPEN
    found = re.match(r"!?\[([^\[\]]*)\]\(\s*<?([^()\s<>]*)>?(?:\s+\"[^\"]*\")?\s*\)", text)
    if found is None:
        return _OPEN if re.fullmatch(r"!?\[[^\[\]]*(\](\([^()]*)?)?", text) else None
    label, address = found.groups()
    shown = [Span(span.text, span.style + LINK) for span in all_spans(label)]
    if address and address != label:
        shown.append(Span(f" ({address})", ADDRESS))
    return shown, found.end()


def _emphasis(text: str, complete: bool, previous: str) -> _Taken | None:
    letter = text[0]
    if letter not in "*_~":
        return None
    run = _run_length(text)
    if run == len(text):
        return _OPEN
    if text[run].isspace() or run > 3 or (letter == "~" and run != 2):
        return None
    if letter == "_" and previous.isalnum():
        return None
    mark = re.escape(letter * run)
    after = r"(?!\w)" if letter == "_" else rf"(?!{re.escape(letter)})"
    closing = re.compile(rf"(?<=[^\s{re.escape(letter)}]){mark}{after}").search(text, run)
    if closing is None or (closing.end() == len(text) and not complete):
        return _OPEN
    style = STRIKE if letter == "~" else (Style.null(), EMPHASIS, STRONG, STRONG + EMPHASIS)[run]
    inner = all_spans(text[run : closing.start()])
    return [Span(span.text, style + span.style) for span in inner], closing.end()
