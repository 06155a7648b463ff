"""A model's header as far as its published dimensions tell it: for planning before any file was seen.

Tensor names, shapes and types are those llama.cpp's converter and quantizer give a dense model; there is no
vocabulary. Sizes come out within a few per cent of the real file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specdec_cli.gguf.header import ModelHeader, ShardInfo, TensorInfo
from specdec_cli.gguf.metadata import Metadata
from specdec_cli.gguf.types import GgmlType
from specdec_cli.registry.catalog import ModelEntry, ModelFacts
from specdec_cli.registry.choose import PREFERRED, quant_of_name

_MIXES: dict[str, tuple[GgmlType, GgmlType, GgmlType]] = {
    "F32": (GgmlType.F32, GgmlType.F32, GgmlType.F32),
    "F16": (GgmlType.F16, GgmlType.F16, GgmlType.F16),
    "BF16": (GgmlType.BF16, GgmlType.BF16, GgmlType.BF16),
    "Q8_0": (GgmlType.Q8_0, GgmlType.Q8_0, GgmlType.Q8_0),
    "Q6_K": (GgmlType.Q6_K, GgmlType.Q6_K, GgmlType.Q6_K),
    "Q5_K": (GgmlType.Q5_K, GgmlType.Q6_K, GgmlType.Q6_K),
    "Q5_1": (GgmlType.Q5_1, GgmlType.Q5_1, GgmlType.Q6_K),
    "Q5_0": (GgmlType.Q5_0, GgmlType.Q5_0, GgmlType.Q6_K),
    "Q4_K": (GgmlType.Q4_K, GgmlType.Q6_K, GgmlType.Q6_K),
    "Q4_1": (GgmlType.Q4_1, GgmlType.Q4_1, GgmlType.Q6_K),
    "Q4_0": (GgmlType.Q4_0, GgmlType.Q4_0, GgmlType.Q6_K),
    "IQ4": (GgmlType.IQ4_XS, GgmlType.IQ4_XS, GgmlType.Q6_K),
    "Q3_K": (GgmlType.Q3_K, GgmlType.Q5_K, GgmlType.Q6_K),
    "Q2_K": (GgmlType.Q2_K, GgmlType.Q3_K, GgmlType.Q6_K),
}
"""By the beginning of a quantization's name: types of most matrices, of those that `_M` mixes keep finer, and of
the output matrix."""

_FOR_UNEVEN_ROWS = {
    GgmlType.Q6_K: GgmlType.Q8_0,
    GgmlType.Q5_K: GgmlType.Q5_1,
    GgmlType.Q4_K: GgmlType.Q5_0,
    GgmlType.Q3_K: GgmlType.IQ4_NL,
    GgmlType.Q2_K: GgmlType.IQ4_NL,
    GgmlType.IQ4_XS: GgmlType.IQ4_NL,
}
"""What the quantizer takes instead for rows that are no whole number of blocks."""


def sketch_header(entry: ModelEntry) -> ModelHeader | None:
    """The header that a file of this entry would have; None when the catalog says too little of it."""
    mix = _mix(_quant_of(entry))
    if entry.facts is None or mix is None:
        return None
    facts = entry.facts
    tensors = tuple(_tensors(facts, mix))
    keys: dict[str, int | bytes] = {
        "general.architecture": facts.architecture.encode(),
        "general.name": entry.name.encode(),
    }
    of_architecture = {
        "block_count": facts.layers,
        "embedding_length": facts.embedding,
        "feed_forward_length": facts.feed_forward,
        "attention.head_count": facts.heads,
        "attention.head_count_kv": facts.kv_heads,
        "attention.key_length": facts.head_size,
        "attention.value_length": facts.head_size,
        "vocab_size": facts.vocabulary,
    }
    if facts.window:
        of_architecture["attention.sliding_window"] = facts.window
    if entry.context:
        of_architecture["context_length"] = entry.context
    keys.update({f"{facts.architecture}.{key}": value for key, value in of_architecture.items()})
    return ModelHeader(
        source=entry.label,
        version=3,
        metadata=Metadata(keys),
        tensors=tensors,
        vocabulary=None,
        header_bytes=0,
        file_bytes=None,
        shards=(ShardInfo(entry.label, 0, 0, None, len(tensors)),),
    )


def _quant_of(entry: ModelEntry) -> str:
    """As the catalog or the file's name says; else what a reference without one most likely finds."""
    file = getattr(entry.source, "file", None)
    return entry.quant or (quant_of_name(file) if file else None) or PREFERRED[0]


def _mix(quant: str) -> tuple[GgmlType, GgmlType, GgmlType] | None:
    found = re.match(r"(?:UD-)?(I?Q\d_[K01]|IQ4|BF16|F16|F32)", quant.upper())
    return _MIXES.get(found[1].replace("IQ4_", "IQ4")) if found else None


def _tensors(facts: ModelFacts, mix: tuple[GgmlType, GgmlType, GgmlType]) -> Iterator[TensorInfo]:
    usual, finer, output = mix
    width, queries, keys = facts.embedding, facts.heads * facts.head_size, facts.kv_heads * facts.head_size
    yield _tensor("token_embd.weight", (width, facts.vocabulary), output if facts.tied else usual)
    for layer in range(facts.layers):
        finer_here = finer if _keeps_finer(layer, facts.layers) else usual
        name = f"blk.{layer}."
        yield _tensor(f"{name}attn_norm.weight", (width,), GgmlType.F32)
        yield _tensor(f"{name}attn_q.weight", (width, queries), usual)
        yield _tensor(f"{name}attn_k.weight", (width, keys), usual)
        yield _tensor(f"{name}attn_v.weight", (width, keys), finer_here)
        yield _tensor(f"{name}attn_output.weight", (queries, width), usual)
        yield _tensor(f"{name}ffn_norm.weight", (width,), GgmlType.F32)
        yield _tensor(f"{name}ffn_gate.weight", (width, facts.feed_forward), usual)
        yield _tensor(f"{name}ffn_up.weight", (width, facts.feed_forward), usual)
        yield _tensor(f"{name}ffn_down.weight", (facts.feed_forward, width), finer_here)
    yield _tensor("output_norm.weight", (width,), GgmlType.F32)
    if not facts.tied:
        yield _tensor("output.weight", (width, facts.vocabulary), output)


def _keeps_finer(layer: int, layers: int) -> bool:
    """Where the `_M` mixes spend more: the first and last eighth of the layers, and every third between."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


def _tensor(name: str, shape: tuple[int, ...], wanted: GgmlType) -> TensorInfo:
    stored = wanted if shape[0] % wanted.block_size == 0 else _FOR_UNEVEN_ROWS.get(wanted, GgmlType.Q8_0)
    elements = shape[0] * (shape[1] if len(shape) > 1 else 1)
    size = elements // stored.block_size * stored.block_bytes
    return TensorInfo(name=name, shape=shape, ggml_type=stored, offset=0, n_bytes=size)
