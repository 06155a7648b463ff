"""Regular expressions of JSON Schema (`pattern`) as GBNF for what stands between the quotes of a string."""

from __future__ import annotations

import string
from collections.abc import Callable

from specdec_cli.grammar.literals import ESCAPES, either, quoted, string_characters

Ranges = list[tuple[int, int]]

_LAST = 0x10FFFF
_EVERYTHING: Ranges = [(0x09, 0x0A), (0x0D, 0x0D), (0x20, _LAST)]
"""What a negated class leaves: other control characters are better not written."""
_LINE_ENDS: Ranges = [(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)]
_DIGITS: Ranges = [(0x30, 0x39)]
_WORD: Ranges = [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]
_BLANK: Ranges = [
    *((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)),
    *((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
]
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _BLANK}
_PERHAPS = {"d": [(0x80, _LAST)], "w": [(0x80, _LAST)], "s": [(0x85, 0x85), (0xFEFF, 0xFEFF)]}
"""What some languages count to these classes: neither the class nor its opposite writes it."""
_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "0": 0x00}
_HEX_LENGTHS = {"x": 2, "u": 4}
_QUANTIFIERS = ("*", "+", "?")


class PatternProblem(Exception):
    """What in a pattern cannot be used, as words."""


def pattern_to_gbnf(pattern: str, any_text: Callable[[], str], add_rule: Callable[[str, str], str]) -> str:
    """An expression for the strings in which `pattern` is found: all of the string only where ^ and $ say so.

    `any_text()` gives the expression for any text within a string; `add_rule(hint, body)` makes a rule and returns
    its name. Raises `PatternProblem`.
    """
    return _Pattern(pattern, any_text, add_rule).read()


class _Pattern:
    def __init__(
        self, pattern: str, any_text: Callable[[], str], add_rule: Callable[[str, str], str]
    ) -> None:
        self._text = pattern
        self._at = 0
        self._any_text = any_text
        self._add_rule = add_rule

    def read(self) -> str:
        alternatives = [self._anchored()]
        while self._take("|"):
            alternatives.append(self._anchored())
        if self._at < len(self._text):
            stray = self._peek() == ")"
            raise PatternProblem("`)` without its beginning" if stray else "`$` in the middle")
        return either(alternatives)

    def _anchored(self) -> str:
        """One alternative of the whole pattern: text may stand before and after it, but for ^ and $."""
        before = "" if self._take("^") else self._any_text() + " "
        inner = self._sequence()
        after = "" if self._take("$") else " " + self._any_text()
        return before + inner + after

    def _sequence(self) -> str:
        """Terms up to `|`, `)`, `$` or the end."""
        found: list[str] = []
        literal = ""
        while (character := self._peek()) and character not in "|)$":
            ranges = self._atom()
            quantifier = self._quantifier()
            if isinstance(ranges, list) and _is_single(ranges) and not quantifier:
                literal += chr(ranges[0][0])
                continue
            found += self._literal(literal)
            literal = ""
            found.append((ranges if isinstance(ranges, str) else self._characters(ranges)) + quantifier)
        found += self._literal(literal)
        return " ".join(found) or '""'

    def _literal(self, text: str) -> list[str]:
        written = "".join(
            ESCAPES.get(letter) or (letter if ord(letter) >= 0x20 else f"\\u{ord(letter):04x}")
            for letter in text
        )
        return [quoted(written)] if text else []

    def _characters(self, ranges: Ranges) -> str:
        expression = string_characters(ranges)
        return self._add_rule("characters", expression) if "|" in expression else expression

    def _atom(self) -> str | Ranges:
        """A group as an expression, or a set of characters."""
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character == ".":
            return _without(_EVERYTHING, _LINE_ENDS)
        if character == "\\":
            return self._escape()
        if character == "^":
            raise PatternProblem("`^` in the middle")
        if character in "*+?{":
            raise PatternProblem(f"`{character}` with nothing before it")
        return [(ord(character), ord(character))]

    def _group(self) -> str:
        if self._take("?") and not self._take(":"):
            raise PatternProblem(f"`(?{self._peek()}`: look-around, names and flags of groups")
        alternatives = [self._sequence()]
        while self._take("|"):
            alternatives.append(self._sequence())
        if self._peek() == "$":
            raise PatternProblem("`$` in the middle")
        if not self._take(")"):
            raise PatternProblem("`(` without its end")
        return "(" + " | ".join(alternatives) + ")"

    def _class(self) -> Ranges:
        negated = self._take("^")
        ranges: Ranges = []
        while not self._take("]"):
            first = self._class_member()
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                last = self._class_member()
                if not (_is_single(first) and _is_single(last)) or first[0][0] > last[0][0]:
                    raise PatternProblem("a range in `[…]` that is none")
                first = [(first[0][0], last[0][0])]
            ranges += first
        found = (
            _without(_EVERYTHING, ranges)
            if negated
            else _without([(0, _LAST)], _without([(0, _LAST)], ranges))
        )
        if not found:
            raise PatternProblem("`[…]` that matches nothing")
        return found

    def _class_member(self) -> Ranges:
        character = self._next()
        if character == "\\":
            return [(0x08, 0x08)] if self._take("b") else self._escape()
        return [(ord(character), ord(character))]

    def _escape(self) -> Ranges:
        kind = self._next()
        if kind in _CLASSES:
            return _CLASSES[kind]
        if kind.lower() in _CLASSES:
            return _without(_EVERYTHING, _CLASSES[kind.lower()] + _PERHAPS[kind.lower()])
        if kind in _CONTROLS:
            return [(_CONTROLS[kind], _CONTROLS[kind])]
        if kind in _HEX_LENGTHS:
            digits = self._text[self._at : self._at + _HEX_LENGTHS[kind]]
            if len(digits) == _HEX_LENGTHS[kind] and set(digits) <= set(string.hexdigits):
                self._at += len(digits)
                return [(int(digits, 16), int(digits, 16))]
        if kind.isalnum():
            raise PatternProblem(f"`\\{kind}`")
        return [(ord(kind), ord(kind))]

    def _quantifier(self) -> str:
        """`*`, `+`, `?` or `{m,n}`; a `?` behind it (take as little as possible) changes nothing here."""
        found = ""
        if self._peek() in _QUANTIFIERS:
            found = self._next()
        elif self._peek() == "{":
            end = self._text.find("}", self._at)
            bounds = self._text[self._at + 1 : max(end, 0)].split(",")
            if end < 0 or len(bounds) > 2 or not bounds[0].isdecimal() or not (bounds[-1] or "0").isdecimal():
                raise PatternProblem("`{` that is not {m}, {m,} or {m,n}")
            found = self._text[self._at : end + 1]
            self._at = end + 1
        if found:
            self._take("?")
            if self._peek() in (*_QUANTIFIERS, "{"):
                raise PatternProblem(f"`{found}{self._peek()}`")
        return found

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise PatternProblem("its end comes too early")
        self._at += 1
        return self._text[self._at - 1]

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, character: str) -> bool:
        taken = self._peek() == character
        self._at += taken
        return taken


def _is_single(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _without(ranges: Ranges, removed: Ranges) -> Ranges:
    """The characters of `ranges` (ascending, apart) that are not in `removed`."""
    left: Ranges = []
    for low, high in ranges:
        for cut_low, cut_high in sorted(removed):
            if low <= cut_low - 1:
                left.append((low, min(high, cut_low - 1)))
            low = max(low, cut_high + 1)
            if low > high:
                break
        if low <= high:
            left.append((low, high))
    return left
