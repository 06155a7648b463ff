"""The header of a model that llama.cpp has not made yet: what `derive` will write, told from its base."""

from __future__ import annotations

from dataclasses import replace

from specdec_cli.gguf.header import ModelHeader, TensorInfo
from specdec_cli.gguf.metadata import Metadata
from specdec_cli.gguf.types import FILE_TYPE_LABELS, GgmlType

_KEPT_PRECISE = ("_norm.weight", "ffn_gate_inp.weight")
_FLOATS = (GgmlType.F32, GgmlType.F16, GgmlType.BF16)


def expected_header(base: ModelHeader, ftype: str, source: str) -> ModelHeader:
    """`base` as it will be once quantized to `ftype` (one of `sources.DERIVED_TYPES`). Sizes within 1 %.

    Follows llama.cpp's rule for these types: matrices in the type, norms and gates as they are, and the output
    matrix (or the embedding that serves as one) in Q6_K, or in Q8_0 where its rows are no multiple of 256.
    """
    wanted = GgmlType[ftype]
    tied = all(tensor.name != "output.weight" for tensor in base.tensors)
    tensors = tuple(_converted(tensor, wanted, tied) for tensor in base.tensors)
    number = next(number for number, label in FILE_TYPE_LABELS.items() if label == ftype)
    keys = {key: value.encode() if isinstance(value, str) else value for key, value in base.metadata.items()}
    return replace(
        base,
        source=source,
        tensors=tensors,
        metadata=Metadata({**keys, "general.file_type": number}),
        file_bytes=None,
        trailing_bytes=0,
    )


def _converted(tensor: TensorInfo, wanted: GgmlType, tied: bool) -> TensorInfo:
    if len(tensor.shape) < 2 or tensor.name.endswith(_KEPT_PRECISE) or not tensor.name.endswith("weight"):
        return tensor
    stored = wanted
    if tensor.name == "output.weight" or (tied and tensor.name == "token_embd.weight"):
        stored = _output_type(wanted, tensor.shape[0])
    if tensor.shape[0] % stored.block_size:
        stored = GgmlType.F16
    return replace(
        tensor, ggml_type=stored, n_bytes=tensor.n_elements // stored.block_size * stored.block_bytes
    )


def _output_type(wanted: GgmlType, row: int) -> GgmlType:
    if wanted in _FLOATS or wanted == GgmlType.Q8_0:
        return wanted
    return GgmlType.Q8_0 if row % GgmlType.Q6_K.block_size else GgmlType.Q6_K
