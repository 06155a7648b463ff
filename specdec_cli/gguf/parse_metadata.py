"""From the bytes of a header to its key-value pairs."""

from __future__ import annotations

import sys
from array import array

from specdec_cli.gguf.metadata import ARRAY_CODES, MetaArray, StringArray
from specdec_cli.gguf.problems import printable
from specdec_cli.gguf.source import LITTLE_ENDIAN, Window
from specdec_cli.gguf.types import ValueType

MAX_KEYS = 4096
MAX_NAME_BYTES = 65_535
"""The longest key that the GGUF specification allows."""

RawValue = int | float | bool | bytes | MetaArray
"""A metadata value with text still in bytes."""


def parse_metadata(window: Window, count: int) -> dict[str, RawValue]:
    """Consume `count` key-value pairs. Raises `HeaderProblem`."""
    if count > MAX_KEYS:
        window.refuse(f"claims {count:,} metadata keys; no model has so many", code="file.too_large")
    values: dict[str, RawValue] = {}
    for number in range(1, count + 1):
        window.reading = f"metadata key {number} of {count}"
        key = parse_name(window, "key")
        if key in values:
            window.refuse(f"the metadata key {printable(key)} is there twice", code="file.duplicate_key")
        window.reading = f"the value of {printable(key)}"
        values[key] = _parse_value(window, key)
        window.forget()
    return values


def parse_name(window: Window, kind: str) -> str:
    """Consume the name of a key or tensor: not empty, UTF-8, without zero bytes (llama.cpp would stop there)."""
    length = window.u64()
    if length > MAX_NAME_BYTES:
        window.refuse(f"{window.reading} claims a name of {length:,} bytes", code="file.damaged")
    raw = window.take(length, f"{window.reading}, which claims a name of {length:,} bytes")
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        name = ""
    if not name or "\0" in name:
        window.refuse(
            f"{window.reading} has no usable name ({kind} {printable(repr(raw))})", code="file.damaged"
        )
    return name


def _parse_value(window: Window, key: str) -> RawValue:
    value_type = _value_type(window, key)
    if value_type is ValueType.STRING:
        length = window.u64()
        return window.take(length, f"{printable(key)}, which claims a text of {length:,} bytes")
    if value_type is ValueType.ARRAY:
        return _parse_array(window, key)
    number = window.number(ARRAY_CODES[value_type])
    return bool(number) if value_type is ValueType.BOOL else number


def _value_type(window: Window, key: str) -> ValueType:
    number = window.u32()
    try:
        return ValueType(number)
    except ValueError:
        window.refuse(
            f"the metadata key {printable(key)} has a value of type {number}, which GGUF does not define",
            code="file.damaged",
        )


def _parse_array(window: Window, key: str) -> MetaArray:
    element_type = _value_type(window, key)
    if element_type is ValueType.ARRAY:
        window.refuse(
            f"the metadata key {printable(key)} is an array of arrays, which llama.cpp does not read",
            code="file.damaged",
        )
    count = window.u64()
    claim = f"{printable(key)}, which claims {count:,} entries"
    if element_type is ValueType.STRING:
        return MetaArray(element_type, _parse_strings(window, count, claim))
    numbers: array[int] | array[float] = array(ARRAY_CODES[element_type])
    window.take_into(numbers, count, claim)
    if sys.byteorder == "big":
        numbers.byteswap()
    return MetaArray(element_type, numbers)


def _parse_strings(window: Window, count: int, claim: str) -> StringArray:
    """Consume `count` strings. Each takes 8 bytes at least, so that no count is believed beyond what is there."""
    ends = array("I")
    window.have(8 * count, claim)
    length = _scan_strings(window, ends, count)
    while len(ends) < count:
        needed = length + 8
        window.have(needed, claim)
        needed += LITTLE_ENDIAN["Q"].unpack_from(window.buffer, window.position - window.start + length)[0]
        window.have(needed + 8 * (count - len(ends) - 1), claim)
        length = _scan_strings(window, ends, count)
    return StringArray(window.take(length), ends)


def _scan_strings(window: Window, ends: array[int], count: int) -> int:
    """Append to `ends` where the strings end that are wholly in memory, up to `count`; return the last one's.

    Positions are relative to `window.position`. The one loop that runs per token, so it does nothing else.
    """
    buffer = window.buffer
    base = window.position - window.start
    limit = len(buffer) - base
    length_at = LITTLE_ENDIAN["Q"].unpack_from
    append = ends.append
    position = ends[-1] if ends else 0
    last_length_at = limit - 8
    for _ in range(count - len(ends)):
        if position > last_length_at:
            break
        end = position + 8 + length_at(buffer, base + position)[0]
        if end > limit:
            break
        append(end)
        position = end
    return position
