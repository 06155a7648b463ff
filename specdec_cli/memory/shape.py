"""What the memory formulas need to know of a model: a plain value, made from a header by `read_shape`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerShape:
    """One layer: its weights, and what it keeps of the text."""

    weight_bytes: int
    largest_tensor_bytes: int = 0
    """Its biggest weight: what is copied to the GPU, whole, when a CPU layer's matrix is multiplied there."""
    expert_bytes: int = 0
    """Part of `weight_bytes` that belongs to routed experts: only the chosen ones are read for a token."""
    heads: int = 0
    kv_heads: int = 0
    key_length: int = 0
    value_length: int = 0
    """Widths of one key and one value head; value_length 0 where only keys are cached (latent attention)."""
    window: int = 0
    """Sliding window in tokens; 0 is full attention."""
    keeps_kv: bool = True
    """False for layers without attention, and for those that read another layer's cache."""
    state_bytes: int = 0
    """Recurrent state of one sequence, float32, of fixed size whatever the context."""
    feed_forward: int = 0
    """Floats per token that the feed-forward part holds at once: a gated one holds gate, up and product."""
    expert_rows: int = 0
    """Floats per token of the chosen experts' outputs, side by side."""
    state_rows: int = 0
    """Floats per token that a recurrent layer holds at once."""

    @property
    def key_width(self) -> int:
        """Elements of one position's keys."""
        return self.kv_heads * self.key_length

    @property
    def value_width(self) -> int:
        """Elements of one position's values."""
        return self.kv_heads * self.value_length


@dataclass(frozen=True)
class ModelShape:
    """A model as the memory plan sees it. Bytes and counts; no file behind it."""

    name: str
    architecture: str
    n_vocab: int
    embedding_length: int
    context_length: int
    """The context it was trained on; 0 when its file does not say."""
    layers: tuple[LayerShape, ...]
    input_bytes: int
    """Tensors that always stay in system memory: the token embedding and its like."""
    output_bytes: int
    """Tensors of the output: its matrix and last norm. A tied model's matrix is the embedding, counted here
    only where it must exist twice (`tied_bytes`)."""
    tied_bytes: int = 0
    """Bytes of the token embedding when it serves as the output matrix too: a GPU gets a copy of its own."""
    input_rows: int = 0
    """Floats per token that the inputs of all layers hold together beside the embedding (Gemma's per-layer
    embeddings)."""
    n_experts: int = 0
    experts_used: int = 0
    unused_layers: int = 0
    """Draft-head layers at the end of the file, which are not loaded but count when layers are offloaded."""
    parameters: int = 0
    """Elements of all loaded tensors."""
    quantization: str = ""
    """The type that holds most weights: `Q4_K`, …"""
    unknown: str | None = None
    """Why the formulas do not hold for this model; None when they do. Then every figure is "unknown"."""

    @property
    def weight_bytes(self) -> int:
        """Bytes of all loaded tensors, each once."""
        return self.input_bytes + self.output_bytes + sum(layer.weight_bytes for layer in self.layers)

    @property
    def offloadable_layers(self) -> int:
        """How many layers `gpu_layers` counts, the output included."""
        return len(self.layers) + self.unused_layers + 1

    @property
    def recurrent(self) -> bool:
        """Whether some layer keeps a state that cannot be cut back."""
        return any(layer.state_bytes for layer in self.layers)
