"""Writes GGUF files for tests: any metadata, any tensors, any claim that does not hold.

    write_gguf(path, metadata, tensors)                 a whole file
    write_gguf(path, metadata, tensors, sparse=True)    a header of any size; data is a hole in the file
    gguf_bytes(metadata, tensors, n_keys=2**60)         a damaged one, in memory

Models to write with it are in `tiny_models.py`.

Metadata values take their GGUF type from Python's: bool, int (u32), float (f32), str or bytes, lists of one
of them (ints: i32). `typed` and `Raw` say it otherwise. Metadata may be pairs, so that keys can repeat.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from specdec_cli.gguf.types import GgmlType, ValueType

STRUCT_CODES = {
    ValueType.UINT8: "B",
    ValueType.INT8: "b",
    ValueType.UINT16: "H",
    ValueType.INT16: "h",
    ValueType.UINT32: "I",
    ValueType.INT32: "i",
    ValueType.FLOAT32: "f",
    ValueType.BOOL: "?",
    ValueType.UINT64: "Q",
    ValueType.INT64: "q",
    ValueType.FLOAT64: "d",
}
Metadata = Mapping[str, Any] | Iterable[tuple[str | bytes, Any]]


@dataclass(frozen=True)
class Raw:
    """A metadata value as type number and bytes, unchecked."""

    type_number: int
    payload: bytes


@dataclass(frozen=True)
class TensorSpec:
    """One tensor: data is random from the model's seed, or zero in a sparse file, unless given."""

    name: str | bytes
    shape: tuple[int, ...]
    ggml_type: int = GgmlType.F32
    data: bytes | None = None
    offset: int | None = None
    """Overrides the right one."""

    @property
    def n_bytes(self) -> int:
        block_size, block_bytes = GgmlType(self.ggml_type).block_size, GgmlType(self.ggml_type).block_bytes
        elements = 1
        for size in self.shape:
            elements *= size
        return elements // block_size * block_bytes


def string(text: str | bytes) -> bytes:
    """A GGUF string: its length, then its bytes."""
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def typed(value_type: ValueType, value: float | int | bool | Sequence[Any], *, array: bool = False) -> Raw:
    """A number, or with `array` numbers, of exactly this type."""
    code = STRUCT_CODES[value_type]
    if array:
        values = list(value)  # type: ignore[arg-type]
        return Raw(ValueType.ARRAY, struct.pack(f"<IQ{len(values)}{code}", value_type, len(values), *values))
    return Raw(value_type, struct.pack(f"<{code}", value))


def claimed_string(length: int, payload: bytes = b"") -> Raw:
    """A string that claims to be `length` bytes long."""
    return Raw(ValueType.STRING, struct.pack("<Q", length) + payload)


def claimed_array(element_type: int, count: int, payload: bytes = b"") -> Raw:
    """An array that claims `count` elements."""
    return Raw(ValueType.ARRAY, struct.pack("<IQ", element_type, count) + payload)


def as_raw(value: Any) -> Raw:
    """The value with the type that Python's type suggests."""
    if isinstance(value, Raw):
        return value
    if isinstance(value, bool):
        return typed(ValueType.BOOL, value)
    if isinstance(value, int):
        return typed(ValueType.UINT32, value)
    if isinstance(value, float):
        return typed(ValueType.FLOAT32, value)
    if isinstance(value, str | bytes):
        return Raw(ValueType.STRING, string(value))
    values = list(value)
    if not values or isinstance(values[0], str | bytes):
        return claimed_array(ValueType.STRING, len(values), b"".join(map(string, values)))
    if isinstance(values[0], bool):
        return typed(ValueType.BOOL, values, array=True)
    return typed(ValueType.INT32 if isinstance(values[0], int) else ValueType.FLOAT32, values, array=True)


def header_bytes(
    metadata: Metadata,
    tensors: Sequence[TensorSpec] = (),
    *,
    magic: bytes = b"GGUF",
    version: int = 3,
    n_tensors: int | None = None,
    n_keys: int | None = None,
    alignment: int = 32,
) -> bytes:
    """A header, padded to where its data starts when there are tensors. `n_*` override what is claimed."""
    pairs = list(metadata.items() if isinstance(metadata, Mapping) else metadata)
    parts = [
        magic,
        struct.pack(
            "<IQQ",
            version,
            len(tensors) if n_tensors is None else n_tensors,
            len(pairs) if n_keys is None else n_keys,
        ),
    ]
    for key, value in pairs:
        raw = as_raw(value)
        parts += [string(key), struct.pack("<I", raw.type_number), raw.payload]
    running = 0
    for tensor in tensors:
        offset = running if tensor.offset is None else tensor.offset
        dimensions = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        parts += [string(tensor.name), dimensions, struct.pack("<IQ", tensor.ggml_type, offset)]
        running += padded(tensor.n_bytes, alignment) if tensor.ggml_type in list(GgmlType) else 0
    header = b"".join(parts)
    return header + bytes(padded(len(header), alignment) - len(header)) if tensors else header


def padded(size: int, alignment: int = 32) -> int:
    """`size` rounded up to `alignment`."""
    return -(-size // alignment) * alignment


def gguf_bytes(
    metadata: Metadata,
    tensors: Sequence[TensorSpec] = (),
    *,
    alignment: int = 32,
    seed: int = 0,
    **claims: Any,
) -> bytes:
    """A whole file in memory."""
    random = np.random.default_rng(seed)
    parts = [header_bytes(metadata, tensors, alignment=alignment, **claims)]
    for tensor in tensors:
        data = random_weights(random, tensor) if tensor.data is None else tensor.data
        parts += [data, bytes(padded(len(data), alignment) - len(data))]
    return b"".join(parts)


def write_gguf(
    path: Path,
    metadata: Metadata,
    tensors: Sequence[TensorSpec] = (),
    *,
    sparse: bool = False,
    alignment: int = 32,
    **options: Any,
) -> Path:
    """Write a file; returns `path`. `sparse`: the data section is a hole of the right size."""
    if sparse:
        size = sum(padded(tensor.n_bytes, alignment) for tensor in tensors)
        with path.open("wb") as file:
            file.write(header_bytes(metadata, tensors, alignment=alignment, **options))
            file.truncate(file.tell() + size)
    else:
        path.write_bytes(gguf_bytes(metadata, tensors, alignment=alignment, **options))
    return path


def random_weights(random: np.random.Generator, tensor: TensorSpec) -> bytes:
    """Small random values in the tensor's type; ones for norms, so that activations keep their size."""
    rows = int(np.prod(tensor.shape, dtype=np.int64))
    if "norm" in str(tensor.name):
        values = np.ones(rows, np.float32)
    else:
        values = random.standard_normal(rows, dtype=np.float32) / np.float32(np.sqrt(tensor.shape[0]))
    if tensor.ggml_type == GgmlType.F32:
        return values.tobytes()
    if tensor.ggml_type == GgmlType.F16:
        return values.astype(np.float16).tobytes()
    if tensor.ggml_type == GgmlType.Q8_0:
        blocks = values.reshape(-1, 32)
        scales = np.abs(blocks).max(axis=1, keepdims=True) / 127
        quants = np.rint(blocks / np.where(scales == 0, 1, scales)).astype(np.int8)
        return np.concatenate([scales.astype(np.float16).view(np.int8), quants], axis=1).tobytes()
    raise ValueError(f"give data for {tensor.name!r}: only F32, F16 and Q8_0 are made up")


def split_into_shards(
    path: Path, metadata: Mapping[str, Any], tensors: Sequence[TensorSpec], count: int, **options: Any
) -> list[Path]:
    """Write `path` (without `.gguf`) as `count` files, named and numbered as llama.cpp's splitter does."""
    share = -(-len(tensors) // count)
    paths = []
    for number in range(count):
        split = {
            "split.no": typed(ValueType.UINT16, number),
            "split.count": typed(ValueType.UINT16, count),
            "split.tensors.count": typed(ValueType.INT32, len(tensors)),
        }
        part = tensors[number * share : (number + 1) * share]
        shard = path.with_name(f"{path.name}-{number + 1:05d}-of-{count:05d}.gguf")
        paths.append(write_gguf(shard, {**metadata, **split} if number == 0 else split, part, **options))
    return paths


class BytesSource:
    """A `ByteSource` over bytes in memory that counts what is read: a stand-in for a remote file."""

    def __init__(self, content: bytes, *, size_known: bool = True, most_per_read: int | None = None) -> None:
        self.content = content
        self.size = len(content) if size_known else None
        self.most_per_read = most_per_read
        self.bytes_read = 0
        self.reads = 0

    def read(self, offset: int, length: int) -> bytes:
        part = self.content[offset : offset + min(length, self.most_per_read or length)]
        self.bytes_read += len(part)
        self.reads += 1
        return part
