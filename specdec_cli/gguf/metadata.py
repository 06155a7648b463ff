"""Metadata values as they lie in the file: decoded when asked for, so that a header costs what it weighs."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, overload

from specdec_cli.gguf.types import ValueType

MetaScalar: TypeAlias = int | float | bool | str
ARRAY_CODES: dict[ValueType, str] = {
    ValueType.UINT8: "B",
    ValueType.INT8: "b",
    ValueType.UINT16: "H",
    ValueType.INT16: "h",
    ValueType.UINT32: "I",
    ValueType.INT32: "i",
    ValueType.FLOAT32: "f",
    ValueType.BOOL: "B",
    ValueType.UINT64: "Q",
    ValueType.INT64: "q",
    ValueType.FLOAT64: "d",
}
"""The `struct` and `array` code of each type of fixed size."""


class StringArray(Sequence[bytes]):
    """The strings of one metadata array: one buffer, and where each string ends in it.

    The buffer is the array as the file has it, each string behind its own 8-byte length. `ends[i]` is where
    string i ends in it. Two arrays are equal when their buffers are.
    """

    __slots__ = ("_ends", "_serialized")

    def __init__(self, serialized: bytes, ends: array[int]) -> None:
        self._serialized = serialized
        self._ends = ends

    @property
    def serialized(self) -> bytes:
        """The array as it lies in the file, lengths included."""
        return self._serialized

    @property
    def ends(self) -> array[int]:
        """Where each string ends in `serialized`: string i is `[ends[i - 1] + 8 : ends[i]]`."""
        return self._ends

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[bytes, ...]: ...
    def __getitem__(self, index: int | slice) -> bytes | tuple[bytes, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        end = self._ends[index]
        position = index if index >= 0 else index + len(self._ends)
        return self._serialized[(self._ends[position - 1] if position else 0) + 8 : end]

    def __iter__(self) -> Iterator[bytes]:
        start = 8
        serialized = self._serialized
        for end in self._ends:
            yield serialized[start:end]
            start = end + 8

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StringArray):
            return self._serialized == other._serialized
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._serialized)

    def __repr__(self) -> str:
        return f"StringArray({len(self)} strings)"


class MetaArray(Sequence[MetaScalar]):
    """An array in the metadata. Elements are decoded when they are asked for."""

    __slots__ = ("_elements", "element_type")

    def __init__(self, element_type: ValueType, elements: array[int] | array[float] | StringArray) -> None:
        self.element_type = element_type
        self._elements = elements

    @property
    def elements(self) -> array[int] | array[float] | StringArray:
        """What lies underneath: an `array` of numbers (0 and 1 for booleans) or the strings as bytes."""
        return self._elements

    def __len__(self) -> int:
        return len(self._elements)

    @overload
    def __getitem__(self, index: int) -> MetaScalar: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[MetaScalar, ...]: ...
    def __getitem__(self, index: int | slice) -> MetaScalar | tuple[MetaScalar, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        element = self._elements[index]
        if isinstance(element, bytes):
            return element.decode("utf-8", "replace")
        return bool(element) if self.element_type == ValueType.BOOL else element

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MetaArray):
            return self.element_type == other.element_type and self._elements == other._elements
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.element_type, len(self)))

    def __repr__(self) -> str:
        return f"MetaArray({len(self)} of {self.element_type.name.lower()})"


MetaValue: TypeAlias = int | float | bool | str | MetaArray


class Metadata(Mapping[str, MetaValue]):
    """The key-value pairs of a header in file order. Text is kept as bytes and decoded on access.

    Bytes that are not UTF-8 become U+FFFD: a damaged description is no reason to refuse a model.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, int | float | bool | bytes | MetaArray]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: str) -> MetaValue:
        value = self._values[key]
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    def text_bytes(self, key: str) -> bytes | None:
        """A text as it lies in the file; None when there is none of this key."""
        value = self._values.get(key)
        return value if isinstance(value, bytes) else None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Metadata({len(self)} keys)"
