"""JSON numbers within bounds, as GBNF."""

from __future__ import annotations

from specdec_cli.grammar.literals import either, quoted

_DIGITS = 16
"""The most digits of a whole number: what a double can hold, and an end to them."""
_LARGEST = 10**_DIGITS - 1
_PLACES = 6
"""The most digits after the point where there are bounds: more might be rounded across one."""
LARGEST_BOUND = 10**9
"""The largest bound of numbers that are not whole."""


def integers(low: int | None, high: int | None) -> str | None:
    """The integers from `low` to `high`, both included, None being no bound; None when there are none."""
    low = -_LARGEST if low is None else max(low, -_LARGEST)
    high = _LARGEST if high is None else min(high, _LARGEST)
    alternatives = []
    if low < 0 and low <= high:
        alternatives.append('"-" ' + _magnitudes(max(1, -high), -low))
    if high >= 0 and low <= high:
        alternatives.append(_magnitudes(max(0, low), high))
    return either(alternatives) if alternatives else None


def numbers(low: int | None, high: int | None, *, without_low: bool, without_high: bool) -> str | None:
    """The decimal numbers between two whole bounds, each included or not; None when there are none.

    Without any bound also those with an exponent.
    """
    if low is None and high is None:
        whole = f'"-"? ("0" | [1-9] [0-9]{{0,{_DIGITS - 1}}})'
        return whole + f' ("." [0-9]{{1,{_DIGITS}}})? ([eE] [-+]? [0-9]{{1,2}})?'
    alternatives = []
    if low is None or low < 0:
        least, without_least = (0, True) if high is None or high >= 0 else (-high, without_high)
        alternatives.append(_decimals(least, None if low is None else -low, without_least, without_low))
        alternatives[-1] = alternatives[-1] and '"-" ' + alternatives[-1]
    if high is None or high >= 0:
        least, without_least = (0, False) if low is None or low < 0 else (low, without_low)
        alternatives.append(_decimals(least, high, without_least, without_high))
    found = [alternative for alternative in alternatives if alternative]
    return either(found) if found else None


def _decimals(low: int, high: int | None, without_low: bool, without_high: bool) -> str:
    """Numbers without a sign from `low` ≥ 0 to `high`; empty when there are none."""
    top = _LARGEST + 1 if high is None else high
    alternatives = []
    if low < top:
        if without_low:
            alternatives.append(f"{quoted(f'{low}.')} [0-9]{{0,{_PLACES - 1}}} [1-9]")
        whole = low + without_low
        if whole < top:
            alternatives.append(f'{_magnitudes(whole, top - 1)} ("." [0-9]{{1,{_PLACES}}})?')
    if high is not None and not without_high and (low < high or (low == high and not without_low)):
        alternatives.append(f'{quoted(str(high))} ("." "0")?')
    return either(alternatives) if alternatives else ""


def _magnitudes(low: int, high: int) -> str:
    """The whole numbers from `low` to `high`, 0 ≤ low ≤ high, without leading zeros."""
    alternatives = []
    for length in range(len(str(low)), len(str(high)) + 1):
        first = max(low, 10 ** (length - 1) if length > 1 else 0)
        last = min(high, 10**length - 1)
        alternatives.append(_same_length(str(first), str(last)))
    return either(alternatives)


def _same_length(low: str, high: str) -> str:
    """The digit strings from `low` to `high`, both of one length."""
    if low == high:
        return quoted(low)
    rest = len(low) - 1
    if low[0] == high[0]:
        return f"{quoted(low[0])} {_same_length(low[1:], high[1:])}"
    zeros, nines = "0" * rest, "9" * rest
    first, last = int(low[0]), int(high[0])
    alternatives = []
    if low[1:] != zeros:
        alternatives.append(f"{quoted(low[0])} {_same_length(low[1:], nines)}")
        first += 1
    if high[1:] != nines:
        alternatives.append(f"{quoted(high[0])} {_same_length(zeros, high[1:])}")
        last -= 1
    if first <= last:
        digits = f"[{first}-{last}]" if first < last else quoted(str(first))
        alternatives.append(digits + " [0-9]" * (rest == 1) + f" [0-9]{{{rest}}}" * (rest > 1))
    return either(alternatives)
