"""A place in the text of a grammar that moves forward: spaces, names, numbers, characters and their classes."""

from __future__ import annotations

import string

from specdec_cli.grammar.rules import Characters, GrammarProblem, problem_at

_WORD = frozenset(string.ascii_letters + string.digits + "-")
_DIGITS = frozenset(string.digits)
_HEX = frozenset(string.hexdigits)
_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-"}
_LAST_CHARACTER = 0x10FFFF
_LAST_OF_ONE_BYTE = 0x7F
_FIRST_SURROGATE, _LAST_SURROGATE = 0xD800, 0xDFFF
_MANY_DIGITS = 18
_HUGE = 10**18


class Cursor:
    """Reads the smallest parts of a grammar; each method moves behind what it read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        """The character at this place; empty at the end."""
        return self.text[self.at : self.at + 1]

    def space(self, *, newlines: bool) -> None:
        """Skip blanks and comments, and line ends if `newlines`."""
        while (character := self.peek()) and (character in " \t#" or (newlines and character in "\r\n")):
            self.at += 1
            if character == "#":
                while self.peek() not in ("", "\r", "\n"):
                    self.at += 1

    def name(self, message: str) -> str:
        """The name of a rule; `message` is what to say when there is none."""
        start = self.at
        while self.peek() in _WORD:
            self.at += 1
        if self.at == start:
            raise self.problem(message + self.found(), self.stray_hint())
        return self.text[start : self.at]

    def integer(self) -> int:
        """A number; too large ones come out as some large one."""
        start = self.at
        while self.peek() in _DIGITS:
            self.at += 1
        digits = self.text[start : self.at]
        if not digits:
            raise self.problem(f"a number is expected{self.found()}")
        return int(digits) if len(digits) < _MANY_DIGITS else _HUGE

    def literal(self) -> Characters:
        """Text in quotes."""
        opened = self.at
        self.at += 1
        length = 0
        while self.peek() != '"':
            if not self.peek():
                raise self.problem("this literal is never closed", at=opened)
            offset = self.at
            code = self.character()
            if not _has_character(code, code):
                raise self.problem(f"there is no character U+{code:04X}", at=offset)
            length += 1
        self.at += 1
        return Characters(length, length)

    def character_class(self) -> Characters:
        """Ranges in brackets."""
        opened = self.at
        self.at += 1
        negated = self.peek() == "^"
        self.at += negated
        ranges: list[tuple[int, int]] = []
        elements = 0
        while self.peek() != "]":
            if not self.peek():
                raise self.problem("this character class is never closed", at=opened)
            offset = self.at
            low = high = self.character()
            elements += 1
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] != "]":
                self.at += 1
                high = self.character()
                elements += 1
            if low > high:
                raise self.problem("this range is empty: its end is before its start", at=offset)
            ranges.append((low, high))
        self.at += 1
        if not ranges or not _matches_something(ranges, negated):
            raise self.problem("this character class matches no character", at=opened)
        return Characters(1, elements, negated and any(high > _LAST_OF_ONE_BYTE for _, high in ranges))

    def character(self) -> int:
        """The code of the character at this place, escaped or not."""
        offset, character = self.at, self.peek()
        if not character:
            raise self.problem("the grammar ends within a character")
        self.at += 1
        if character != "\\":
            return ord(character)
        kind = self.peek()
        self.at += 1
        if kind in _HEX_ESCAPES:
            digits = self.text[self.at : self.at + _HEX_ESCAPES[kind]]
            if len(digits) < _HEX_ESCAPES[kind] or not _HEX.issuperset(digits):
                raise self.problem(f"`\\{kind}` needs {_HEX_ESCAPES[kind]} hexadecimal digits", at=offset)
            self.at += len(digits)
            return int(digits, 16)
        if kind not in _ESCAPES or not kind:
            raise self.problem(f"there is no escape `\\{kind}`", at=offset)
        return ord(_ESCAPES[kind])

    def found(self, before: str = ", found ") -> str:
        """What stands here instead, for error messages."""
        character = self.peek()
        if not character:
            return f"{before}the end"
        return f"{before}the end of the line" if character in "\r\n" else f"{before}{character!r}"

    def stray_hint(self) -> str | None:
        """What people expect of names elsewhere."""
        return "names hold letters, digits and `-`" if self.peek() == "_" else None

    def problem(self, message: str, hint: str | None = None, *, at: int | None = None) -> GrammarProblem:
        """An error at this place, or at `at`."""
        return problem_at(self.text, self.at if at is None else at, message, hint)


def _matches_something(ranges: list[tuple[int, int]], negated: bool) -> bool:
    """Whether any character from U+0001 on, surrogates aside, is in the class."""
    if not negated:
        return any(_has_character(low, high) for low, high in ranges)
    start = 1
    for low, high in sorted(ranges):
        if _has_character(start, low - 1):
            return True
        start = max(start, high + 1)
    return _has_character(start, _LAST_CHARACTER)


def _has_character(low: int, high: int) -> bool:
    low, high = max(low, 1), min(high, _LAST_CHARACTER)
    return low <= high and not (low >= _FIRST_SURROGATE and high <= _LAST_SURROGATE)


def is_word(character: str) -> bool:
    """Whether this character can be part of a rule's name."""
    return character in _WORD
