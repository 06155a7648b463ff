"""Strings and numbers of JSON Schema as GBNF."""

from __future__ import annotations

from collections.abc import Callable

from specdec_cli.grammar.gbnf import MOST_REPETITIONS
from specdec_cli.grammar.numbers import LARGEST_BOUND, integers, numbers
from specdec_cli.grammar.patterns import PatternProblem, pattern_to_gbnf
from specdec_cli.grammar.schema_terms import KEYWORDS_OF_TYPE, Schema, problem

CHARACTER = (
    '[^"\\\\\\x00-\\x1F] | "\\\\" (["\\\\/bfnrt] | '
    '"u" ([0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}))'
)
"""One character of a JSON string; an escaped half of a surrogate pair is none."""

_DATE = (
    '[1-9] [0-9]{3} "-" (("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | "1" [0-9] | "2" [0-8]) | '
    '("0" [13-9] | "1" [0-2]) "-" ("29" | "30") | ("0" [13578] | "10" | "12") "-31")'
)
_TIME = (
    '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,6})? '
    '("Z" | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9])'
)
FORMATS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f'{_DATE} "T" {_TIME}',
    "uuid": '[0-9a-f]{8} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{12}',
}
"""Formats that can be told character by character."""


def is_unbounded(kind: str, schema: Schema) -> bool:
    """Whether a schema says nothing about the values of a type."""
    return KEYWORDS_OF_TYPE.get(kind, frozenset()).isdisjoint(schema)


def string_contents(
    schema: Schema, path: str, character: Callable[[], str], add_rule: Callable[[str, str], str]
) -> str:
    """What may stand between the quotes. `character()` is the expression for any one character."""
    asked = [keyword for keyword in ("pattern", "format", "minLength", "maxLength") if keyword in schema]
    if "pattern" in schema or "format" in schema:
        if len(asked) > 1:
            raise problem(path, f"`{asked[1]}` beside `{asked[0]}` is not supported")
        if "format" in schema:
            return _format(schema["format"], path, add_rule)
        return _pattern(schema["pattern"], path, character, add_rule)
    least = whole_number(schema, "minLength", path) or 0
    most = whole_number(schema, "maxLength", path)
    check_order(least, most, path, "minLength", "maxLength")
    return repetition(character(), least, most, path, "minLength", "maxLength")


def _format(name: object, path: str, add_rule: Callable[[str, str], str]) -> str:
    if not isinstance(name, str) or name not in FORMATS:
        raise problem(path, f"`format` {name} is not supported", "one of " + ", ".join(FORMATS))
    return add_rule(name, FORMATS[name])


def _pattern(
    pattern: object, path: str, character: Callable[[], str], add_rule: Callable[[str, str], str]
) -> str:
    if not isinstance(pattern, str):
        raise problem(path, "`pattern` is a string")
    try:
        return pattern_to_gbnf(pattern, lambda: character() + "*", add_rule)
    except PatternProblem as reason:
        raise problem(path, f"`pattern` {pattern!r}: {reason} is not supported") from reason


def repetition(item: str, least: int, most: int | None, path: str, minimum: str, maximum: str) -> str:
    """`item`, `least` to `most` times; the keywords are named in errors."""
    for keyword, count in ((minimum, least), (maximum, most or 0)):
        if count > MOST_REPETITIONS:
            raise problem(path, f"`{keyword}` {count} is not supported: at most {MOST_REPETITIONS}")
    if (least, most) == (0, None):
        return item + "*"
    if most is None:
        return f"{item}{{{least},}}"
    return f"{item}{{{least},{most}}}" if most else '""'


def check_order(least: int, most: int | None, path: str, minimum: str, maximum: str) -> None:
    """Raise `UsageProblem` if at least more is asked for than at most."""
    if most is not None and most < least:
        raise problem(path, f"`{minimum}` {least} is more than `{maximum}` {most}")


def whole_number(schema: Schema, keyword: str, path: str) -> int | None:
    """The value of a keyword that counts something; None when it is not there."""
    value = schema.get(keyword)
    if value is None and keyword not in schema:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value) or value < 0:
        raise problem(path, f"`{keyword}` is a whole number from 0 on")
    return int(value)


def integer(schema: Schema, path: str) -> str:
    """The integers that a schema allows."""
    low, high, without_low, without_high = _bounds(schema, path)
    if low is not None:
        low = _up(low) + (without_low and low == _up(low))
    if high is not None:
        high = -_up(-high) - (without_high and high == -_up(-high))
    return _some(integers(low, high), path)


def number(schema: Schema, path: str) -> str:
    """The numbers that a schema allows."""
    low, high, without_low, without_high = _bounds(schema, path)
    for bound in (low, high):
        if bound is not None and (bound != int(bound) or abs(bound) > LARGEST_BOUND):
            raise problem(
                path,
                f"a bound of {bound} is not supported for numbers: only whole ones up to {LARGEST_BOUND:g}",
            )
    whole_low, whole_high = None if low is None else int(low), None if high is None else int(high)
    return _some(numbers(whole_low, whole_high, without_low=without_low, without_high=without_high), path)


def _some(expression: str | None, path: str) -> str:
    if expression is None:
        raise problem(path, "no number lies between these bounds")
    return expression


def _bounds(schema: Schema, path: str) -> tuple[float | None, float | None, bool, bool]:
    """Lower and upper bound, and whether each is excluded itself."""
    low, without_low = _stricter(schema, "minimum", "exclusiveMinimum", 1, path)
    high, without_high = _stricter(schema, "maximum", "exclusiveMaximum", -1, path)
    return low, high, without_low, without_high


def _stricter(
    schema: Schema, inclusive: str, exclusive: str, sign: int, path: str
) -> tuple[float | None, bool]:
    found: list[tuple[float, bool]] = []
    for keyword in (inclusive, exclusive):
        value = schema.get(keyword)
        if isinstance(value, bool):  # as in draft 4
            raise problem(path, f"`{keyword}` as true or false is not supported: give the bound itself")
        if keyword in schema:
            if not isinstance(value, (int, float)) or value != value or abs(value) == float("inf"):
                raise problem(path, f"`{keyword}` is a number")
            found.append((value, keyword == exclusive))
    if not found:
        return None, False
    return max(found, key=lambda bound: (sign * bound[0], bound[1]))


def _up(value: float) -> int:
    """The least integer that is not less."""
    return -int(-value // 1)
