"""JSON values and characters as pieces of GBNF."""

from __future__ import annotations

import json
from collections.abc import Iterable

ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
"""How JSON writes what may not stand in a string as it is; other control characters are `\\u00XX`."""
_LAST_CHARACTER = 0x10FFFF
_CLASS_SPECIAL = frozenset("[]\\^-")


def quoted(text: str) -> str:
    """A GBNF literal for exactly this text."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def json_text(value: object) -> str:
    """A JSON value as it is written in answers: in one line, a space after commas and colons.

    Raises `ValueError` for NaN and the infinities.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair can only be written escaped
        return json.dumps(value, allow_nan=False)
    return text


def either(alternatives: Iterable[str]) -> str:
    """One of several expressions, as one expression."""
    unique = list(dict.fromkeys(alternatives))
    return unique[0] if len(unique) == 1 else "(" + " | ".join(unique) + ")"


def string_characters(ranges: Iterable[tuple[int, int]]) -> str:
    """The characters with codes in `ranges` (not empty) as they are written within a JSON string."""
    plain: list[str] = []
    escaped: list[str] = []
    for low, high in ranges:
        for code in range(low, min(high, 0x1F) + 1):
            escaped.append(quoted(ESCAPES.get(chr(code), f"\\u{code:04x}")))
        escaped += [quoted(ESCAPES[special]) for special in '"\\' if low <= ord(special) <= high]
        start = max(low, 0x20)
        for special in (*map(ord, '"\\'), _LAST_CHARACTER + 1):
            if start <= min(special - 1, high):
                plain.append(_class_range(start, min(special - 1, high)))
            start = max(start, special + 1)
    alternatives = ["[" + "".join(plain) + "]"] if plain else []
    return either(alternatives + escaped)


def _class_range(low: int, high: int) -> str:
    return _class_character(low) if low == high else f"{_class_character(low)}-{_class_character(high)}"


def _class_character(code: int) -> str:
    character = chr(code)
    if character in _CLASS_SPECIAL or not character.isprintable():
        return f"\\U{code:08X}"
    return character
