"""From the bytes of a header to its tensor table."""

from __future__ import annotations

from specdec_cli.gguf.header import TensorInfo
from specdec_cli.gguf.parse_metadata import parse_name
from specdec_cli.gguf.problems import printable
from specdec_cli.gguf.source import Window
from specdec_cli.gguf.types import BLOCKS, GgmlType

MAX_TENSORS = 16_384
MAX_DIMENSIONS = 4
MAX_TENSOR_NAME_BYTES = 63
MAX_ELEMENTS = 2**63 - 1
"""The last three are ggml's own limits."""


def parse_tensors(window: Window, count: int, alignment: int) -> tuple[TensorInfo, ...]:
    """Consume `count` rows of the tensor table. Raises `HeaderProblem`.

    Data must lie as llama.cpp demands: in the order of the table, each tensor padded to `alignment`.
    """
    if count > MAX_TENSORS:
        window.refuse(f"claims {count:,} tensors; no model has so many", code="file.too_large")
    tensors: list[TensorInfo] = []
    names: set[str] = set()
    expected = 0
    for number in range(1, count + 1):
        window.reading = f"tensor {number} of {count}"
        tensor = _parse_tensor(window)
        shown = f"the tensor {printable(tensor.name)}"
        if tensor.name in names:
            window.refuse(f"{shown} is there twice", code="file.duplicate_key")
        if tensor.offset != expected:
            message = f"{shown} starts at byte {tensor.offset:,} of the data where {expected:,} is right"
            window.refuse(message, code="file.tensor")
        names.add(tensor.name)
        tensors.append(tensor)
        expected += padded(tensor.n_bytes, alignment)
        window.forget()
    return tuple(tensors)


def padded(size: int, alignment: int) -> int:
    """`size` rounded up to a multiple of `alignment`."""
    return -(-size // alignment) * alignment


def _parse_tensor(window: Window) -> TensorInfo:
    name = parse_name(window, "tensor")
    if len(name.encode()) > MAX_TENSOR_NAME_BYTES:
        window.refuse(
            f"{window.reading} has a name of more than {MAX_TENSOR_NAME_BYTES} bytes", code="file.tensor"
        )
    shown = f"the tensor {printable(name)}"
    n_dimensions = window.u32()
    if n_dimensions > MAX_DIMENSIONS:
        window.refuse(f"{shown} claims {n_dimensions:,} dimensions; ggml has 4", code="file.tensor")
    shape = tuple(window.u64() for _ in range(n_dimensions))
    elements = 1
    for size in shape:
        elements *= size
    # An axis of 0 must not hide another one that is out of range.
    if max((elements, *shape)) > MAX_ELEMENTS:
        window.refuse(f"{shown} has the impossible shape {shape}", code="file.tensor")
    number = window.u32()
    try:
        block_size, block_bytes = BLOCKS[GgmlType(number)]
    except ValueError:
        window.refuse(
            f"{shown} is stored as type {number}, which ggml retired or this version does not know",
            code="file.tensor",
            hint="look for a newer file of this model, or a newer specdec",
        )
    row = shape[0] if shape else 1
    if row % block_size:
        message = f"{shown} has rows of {row:,} elements, which {GgmlType(number).name} cannot store"
        window.refuse(message, code="file.tensor")
    return TensorInfo(name, shape, number, window.u64(), elements // block_size * block_bytes)
