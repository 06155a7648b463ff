"""What a GGUF header says about a model: plain values, with no file behind them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from specdec_cli.gguf.metadata import MetaArray, Metadata, MetaScalar, MetaValue, StringArray
from specdec_cli.gguf.types import (
    FILE_TYPE_LABELS,
    GUESSED_FILE_TYPE,
    GgmlType,
    TokenType,
    ValueType,
    tensor_type_name,
)
from specdec_cli.gguf.vocabulary import Vocabulary

__all__ = [
    "GgmlType",
    "MetaArray",
    "MetaScalar",
    "MetaValue",
    "Metadata",
    "ModelHeader",
    "PerLayer",
    "ShardInfo",
    "StringArray",
    "TensorInfo",
    "TokenType",
    "ValueType",
    "Vocabulary",
]

PerLayer = int | tuple[int, ...]
"""One number for every layer, or one per layer."""
MOST_LAYERS = 4096
"""A longer array is no list of layers (llama.cpp stops at 512)."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One row of the tensor table."""

    name: str
    shape: tuple[int, ...]
    """Elements per dimension, GGUF order: the first is the contiguous one (the row length)."""
    ggml_type: int
    """A `GgmlType` number."""
    offset: int
    """Where its data starts, in bytes from the start of its shard's data section."""
    n_bytes: int
    shard: int = 0
    """Index into `ModelHeader.shards` of the file that holds it."""

    @property
    def n_elements(self) -> int:
        """Product of the shape."""
        product = 1
        for size in self.shape:
            product *= size
        return product

    @property
    def type_name(self) -> str:
        """`F16`, `Q4_K`, …"""
        return tensor_type_name(self.ggml_type)


@dataclass(frozen=True, slots=True)
class ShardInfo:
    """One file of a model; a model in one file has one."""

    source: str
    """Path or URL."""
    header_bytes: int
    data_offset: int
    """Where tensor data starts in the file."""
    file_bytes: int | None
    """None when a remote server does not say."""
    n_tensors: int


@dataclass(frozen=True, eq=False)
class ModelHeader:
    """Everything a model's header says: metadata, tensor table, vocabulary, and the files it lies in."""

    source: str
    """Path or URL of the (first) file, as shown to people."""
    version: int
    metadata: Metadata
    tensors: tuple[TensorInfo, ...]
    """Of all shards, in file order."""
    vocabulary: Vocabulary | None
    """None when the file has no token list: a projector, a draft head, a later shard."""
    header_bytes: int
    """Bytes of header, over all shards."""
    file_bytes: int | None
    """Bytes of all shards together; None when a remote server does not say."""
    shards: tuple[ShardInfo, ...]
    trailing_bytes: int = 0
    """Bytes after the end of the last tensor's padding that belong to nothing; a sign of a bad download."""

    def get(self, suffix: str) -> MetaValue | None:
        """The value of `{architecture}.{suffix}`, or None."""
        return self.metadata.get(f"{self.architecture}.{suffix}")

    def integer(self, key: str) -> int | None:
        """A whole metadata value by its full key; None when absent or of another kind."""
        value = self.metadata.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def text(self, key: str) -> str | None:
        """A text metadata value by its full key; None when absent or of another kind."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None

    def per_layer(self, suffix: str) -> PerLayer | None:
        """`{architecture}.{suffix}` as one number or one per layer; None when absent or nonsense."""
        value = self.get(suffix)
        if not isinstance(value, MetaArray):
            return self._number(suffix)
        if len(value) > MOST_LAYERS:
            return None
        numbers = tuple(int(item) for item in value if isinstance(item, int) and item >= 0)
        return numbers if len(numbers) == len(value) else None

    def _number(self, suffix: str) -> int | None:
        number = self.integer(f"{self.architecture}.{suffix}")
        return None if number is None or number < 0 else number

    @cached_property
    def architecture(self) -> str:
        """`general.architecture`: `llama`, `qwen3`, `gemma3`, … Empty in later shards only."""
        return self.text("general.architecture") or ""

    @property
    def kind(self) -> str | None:
        """`general.type`: `model`, `adapter`, `imatrix`, `mmproj`, …; None when the file does not say."""
        return self.text("general.type")

    @property
    def name(self) -> str | None:
        """`general.name`."""
        return self.text("general.name")

    @property
    def basename(self) -> str | None:
        """`general.basename`, the family's name as the converter understood it."""
        return self.text("general.basename")

    @property
    def size_label(self) -> str | None:
        """`general.size_label`: `135M`, `8x7B`."""
        return self.text("general.size_label")

    @property
    def finetune(self) -> str | None:
        """`general.finetune`: `Instruct`, `it`, …"""
        return self.text("general.finetune")

    @property
    def block_count(self) -> int | None:
        """Number of layers, draft heads (`nextn_predict_layers`) included."""
        return self._number("block_count")

    @property
    def context_length(self) -> int | None:
        """The context the model was trained on."""
        return self._number("context_length")

    @property
    def embedding_length(self) -> int | None:
        """Width of the hidden state."""
        return self._number("embedding_length")

    @property
    def head_count(self) -> PerLayer | None:
        """Attention heads."""
        return self.per_layer("attention.head_count")

    @property
    def head_count_kv(self) -> PerLayer | None:
        """Key and value heads; as many as attention heads when the file does not say."""
        stated = self.per_layer("attention.head_count_kv")
        return self.head_count if stated is None else stated

    def _default_head_length(self) -> int | None:
        heads = self.head_count
        first = heads[0] if isinstance(heads, tuple) and heads else heads
        if self.embedding_length is None or not isinstance(first, int) or first <= 0:
            return None
        return self.embedding_length // first

    @property
    def key_length(self) -> int | None:
        """Width of one key head; embedding_length ÷ heads of the first layer when the file does not say."""
        stated = self._number("attention.key_length")
        return self._default_head_length() if stated is None else stated

    @property
    def value_length(self) -> int | None:
        """Width of one value head; embedding_length ÷ heads of the first layer when the file does not say."""
        stated = self._number("attention.value_length")
        return self._default_head_length() if stated is None else stated

    @property
    def sliding_window(self) -> int | None:
        """Attention window of sliding-window layers, in tokens; None when there is none."""
        return self._number("attention.sliding_window") or None

    @property
    def expert_count(self) -> int:
        """Experts per layer; 0 for a dense model."""
        return self._number("expert_count") or 0

    @property
    def expert_used_count(self) -> PerLayer:
        """Experts that see each token; 0 for a dense model."""
        return self.per_layer("expert_used_count") or 0

    @property
    def vocab_size(self) -> int | None:
        """Entries of the token list, which llama.cpp goes by; else `{architecture}.vocab_size`."""
        return self.vocabulary.n_tokens if self.vocabulary is not None else self._number("vocab_size")

    @property
    def chat_template(self) -> str | None:
        """`tokenizer.chat_template`, Jinja source."""
        return self.text("tokenizer.chat_template")

    @property
    def file_type(self) -> int | None:
        """`general.file_type`, without llama.cpp's flag for a guessed one."""
        number = self.integer("general.file_type")
        return None if number is None else number & ~GUESSED_FILE_TYPE

    @property
    def has_weights(self) -> bool:
        """False for a vocabulary-only file."""
        return bool(self.tensors)

    @cached_property
    def n_parameters(self) -> int:
        """Elements of all tensors."""
        return sum(tensor.n_elements for tensor in self.tensors)

    @cached_property
    def weight_bytes(self) -> int:
        """Bytes of all tensors, without padding."""
        return sum(tensor.n_bytes for tensor in self.tensors)

    @property
    def bits_per_weight(self) -> float | None:
        """Average over all tensors; None without weights."""
        return self.weight_bytes * 8 / self.n_parameters if self.n_parameters else None

    @cached_property
    def elements_by_type(self) -> dict[int, int]:
        """How many elements are stored in each `GgmlType`, most first."""
        counts: Counter[int] = Counter()
        for tensor in self.tensors:
            counts[tensor.ggml_type] += tensor.n_elements
        return dict(counts.most_common())

    @property
    def dominant_type(self) -> int | None:
        """The `GgmlType` that holds most elements; None without weights."""
        return next(iter(self.elements_by_type), None)

    @property
    def quantization(self) -> str | None:
        """`Q4_K_M`: what `general.file_type` says, else the dominant type; None without weights."""
        if not self.tensors:
            return None
        label = None if self.file_type is None else FILE_TYPE_LABELS.get(self.file_type)
        dominant = self.dominant_type
        return label or (None if dominant is None else tensor_type_name(dominant))
