"""Headers for tests that read no weights: written and parsed in memory, models of any size.

model_header("target", parameters=7e9, ggml_type=GgmlType.Q4_K)     a llama-like model
header_of(metadata, tensors)                                        anything else
vocabulary_of(["a", "<b>"], ...)                                    metadata keys of a vocabulary
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specdec_cli.gguf.header import ModelHeader
from specdec_cli.gguf.reader import parse_header
from specdec_cli.gguf.types import GgmlType, TokenType
from tests.support.gguf_files import TensorSpec, header_bytes, padded
from tests.support.tiny_models import architecture_metadata, bpe_vocabulary

EMBEDDING = 256


class HeaderInMemory:
    """A file of which only the header exists; its data section reads as zeros."""

    def __init__(self, header: bytes, data_bytes: int) -> None:
        self._header = header
        self.size: int | None = len(header) + data_bytes

    def read(self, offset: int, length: int) -> bytes:
        assert self.size is not None
        length = max(0, min(length, self.size - offset))
        return self._header[offset : offset + length].ljust(length, b"\0")


def header_of(
    metadata: dict[str, Any], tensors: Sequence[TensorSpec] = (), *, source: str = "model.gguf"
) -> ModelHeader:
    """The header of a file with this metadata and these tensors."""
    data_bytes = sum(padded(tensor.n_bytes) for tensor in tensors)
    return parse_header(HeaderInMemory(header_bytes(metadata, tensors), data_bytes), source)


def model_header(
    name: str = "model",
    *,
    architecture: str = "llama",
    parameters: float = 1e6,
    ggml_type: int = GgmlType.F16,
    layers: int = 2,
    context: int = 4096,
    vocabulary: dict[str, Any] | None = None,
    experts: int = 0,
    embedding_type: int | None = None,
    extra_tensors: Sequence[TensorSpec] = (),
    metadata: dict[str, Any] | None = None,
    **keys: Any,
) -> ModelHeader:
    """A model of about `parameters` weights in its layers, in one type but for the embedding if that has its own.
    `keys` as in `architecture_metadata`; `metadata` adds whole keys, or removes those that are None."""
    words = bpe_vocabulary() if vocabulary is None else vocabulary
    columns = max(1, round(parameters / layers / EMBEDDING))
    tokens = words.get("tokenizer.ggml.tokens", [])
    rows = len(tokens) if isinstance(tokens, list) and tokens else 1000
    stack = (experts,) if experts else ()
    tensors = [
        TensorSpec(
            "token_embd.weight", (EMBEDDING, rows), ggml_type if embedding_type is None else embedding_type
        ),
        TensorSpec("output_norm.weight", (EMBEDDING,)),
    ]
    for layer in range(layers):
        tensors.append(TensorSpec(f"blk.{layer}.attn_norm.weight", (EMBEDDING,)))
        tensors.append(
            TensorSpec(
                f"blk.{layer}.ffn_up{'_exps' if experts else ''}.weight",
                (EMBEDDING, columns, *stack),
                ggml_type,
            )
        )
    mixture = {"expert_count": experts, "expert_used_count": 2} if experts else {}
    values = architecture_metadata(
        architecture,
        name=name,
        layers=layers,
        embedding=EMBEDDING,
        context=context,
        file_type=None,
        **mixture,
        **keys,
    )
    values |= words | (metadata or {})
    present = {key: value for key, value in values.items() if value is not None}
    return header_of(present, [*tensors, *extra_tensors], source=f"{name}.gguf")


def vocabulary_of(
    tokens: Sequence[str | bytes],
    /,
    *,
    model: str = "gpt2",
    pre: str | None = "gpt-2",
    control: Sequence[str] = (),
    unused: Sequence[str] = (),
    types: bool = True,
    template: str | None = None,
    **keys: Any,
) -> dict[str, Any]:
    """Metadata of a vocabulary. `control` and `unused` type those tokens; `keys` are `tokenizer.ggml.` keys."""
    kinds = dict.fromkeys(control, TokenType.CONTROL) | dict.fromkeys(unused, TokenType.UNUSED)
    values: dict[str, Any] = {
        "tokenizer.ggml.model": model,
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": list(tokens),
        "tokenizer.ggml.token_type": [int(kinds.get(str(token), TokenType.NORMAL)) for token in tokens]
        if types
        else None,
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.chat_template": template,
    }
    values |= {f"tokenizer.ggml.{key}": value for key, value in keys.items()}
    return {key: value for key, value in values.items() if value is not None}
