"""From a model's header to its `ModelShape`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from specdec_cli.gguf.header import ModelHeader, TensorInfo
from specdec_cli.gguf.types import tensor_type_name
from specdec_cli.memory.architectures import ARCHITECTURES, Architecture
from specdec_cli.memory.shape import LayerShape, ModelShape

_LAYER = re.compile(r"blk\.(\d+)\.(.+)")
_INPUT = ("token_embd.", "position_embd.", "token_types.", "per_layer_token_embd.")
_FLOAT = 4
_RECURRENT_PROJECTIONS = ("ssm_in.weight", "attn_qkv.weight", "attn_gate.weight", "shortconv.in_proj.weight")

Tensors = dict[str, TensorInfo]


def read_shape(header: ModelHeader) -> ModelShape:
    """The shape of a model, by what its header says and what is known of its architecture.

    `unknown` is set, and the layers hold weights only, when the architecture is not one whose memory is known
    (`architectures.py`) or the header lacks what the formulas need.
    """
    by_layer, outside = _split(header.tensors)
    n_layers = header.block_count or 0
    unused = _at_least_zero(header, "nextn_predict_layers")
    loaded = max(0, n_layers - unused)
    layers = [by_layer.get(index, {}) for index in range(loaded)]
    inputs = [tensor for tensor in outside if tensor.name.startswith(_INPUT)]
    outputs = [tensor for tensor in outside if not tensor.name.startswith(_INPUT)]
    unknown = _what_is_missing(header, loaded)
    reader = _LayerReader(header, loaded) if unknown is None else None
    embedding = next((tensor for tensor in inputs if tensor.name == "token_embd.weight"), None)
    tied = embedding is not None and all(tensor.name != "output.weight" for tensor in outputs)
    return ModelShape(
        name=header.name or header.source,
        architecture=header.architecture,
        n_vocab=header.vocab_size or (embedding.shape[-1] if embedding is not None else 0),
        embedding_length=header.embedding_length or 0,
        context_length=header.context_length or 0,
        layers=tuple(
            reader.layer(index, tensors) if reader is not None else _weights_only(tensors)
            for index, tensors in enumerate(layers)
        ),
        input_bytes=_total(inputs),
        output_bytes=_total(outputs),
        tied_bytes=embedding.n_bytes if tied and embedding is not None else 0,
        input_rows=reader.input_rows() if reader is not None else 0,
        n_experts=header.expert_count,
        experts_used=_most(header.expert_used_count),
        unused_layers=min(unused, n_layers),
        parameters=sum(t.n_elements for t in outside)
        + sum(t.n_elements for ts in layers for t in ts.values()),
        quantization="" if header.dominant_type is None else tensor_type_name(header.dominant_type),
        unknown=unknown,
    )


def _split(tensors: Iterable[TensorInfo]) -> tuple[dict[int, Tensors], list[TensorInfo]]:
    """Tensors by layer and name within it, and those outside the layers."""
    by_layer: dict[int, Tensors] = {}
    outside = []
    for tensor in tensors:
        match = _LAYER.fullmatch(tensor.name)
        if match is None:
            outside.append(tensor)
        else:
            by_layer.setdefault(int(match[1]), {})[match[2]] = tensor
    return by_layer, outside


def _total(tensors: Iterable[TensorInfo]) -> int:
    return sum(tensor.n_bytes for tensor in tensors)


def _most(value: int | tuple[int, ...]) -> int:
    return max(value, default=0) if isinstance(value, tuple) else value


def _at_least_zero(header: ModelHeader, suffix: str) -> int:
    value = header.get(suffix)
    return max(0, value) if isinstance(value, int) else 0


def _weights_only(tensors: Tensors) -> LayerShape:
    return LayerShape(
        weight_bytes=_total(tensors.values()),
        largest_tensor_bytes=max((tensor.n_bytes for tensor in tensors.values()), default=0),
        expert_bytes=_total(tensor for name, tensor in tensors.items() if "_exps." in name),
    )


def _what_is_missing(header: ModelHeader, loaded: int) -> str | None:
    """Why this model's memory cannot be computed from its header; None when it can."""
    architecture = ARCHITECTURES.get(header.architecture)
    if architecture is None:
        return f"how architecture '{header.architecture}' uses memory is not known to specdec"
    if not header.has_weights:
        return "the file has a vocabulary and no weights"
    if not loaded or not header.embedding_length:
        return "the header does not say how many layers the model has, or how wide they are"
    if architecture.recurrent == "all":
        return None
    for what, value in (("attention.head_count", header.head_count), ("head widths", header.key_length)):
        if value is None:
            return f"the header does not say {what}"
    for value in (header.head_count, header.head_count_kv):
        if isinstance(value, tuple) and len(value) < loaded:
            return f"the header gives heads for {len(value)} of {loaded} layers"
    return None


class _LayerReader:
    """Reads the layers of one header whose architecture is known."""

    def __init__(self, header: ModelHeader, n_layers: int) -> None:
        self._header = header
        self._n_layers = n_layers
        self._known: Architecture = ARCHITECTURES[header.architecture]
        self._width = header.embedding_length or 0
        self._window = _window_of(header, self._known, n_layers)
        self._recurrent = _recurrent_layers(header, self._known)
        self._cached = self._cached_layers()

    def layer(self, index: int, tensors: Tensors) -> LayerShape:
        """Layer `index` with everything the formulas need."""
        weights = _weights_only(tensors)
        window = self._window(index)
        recurrent = self._recurrent(index)
        attends = not recurrent or self._known.recurrent == "parallel"
        keys, values = self._head_widths(windowed=window > 0)
        kv_heads = _of_layer(self._header.head_count_kv, index) if attends else 0
        return LayerShape(
            weight_bytes=weights.weight_bytes,
            largest_tensor_bytes=weights.largest_tensor_bytes,
            expert_bytes=weights.expert_bytes,
            heads=_of_layer(self._header.head_count, index) if attends else 0,
            kv_heads=kv_heads,
            key_length=keys,
            value_length=values,
            window=window,
            keeps_kv=kv_heads > 0 and index < self._cached,
            state_bytes=self._state_bytes() if recurrent else 0,
            feed_forward=self._feed_forward(tensors),
            expert_rows=self._experts_used(index) * self._width if weights.expert_bytes else 0,
            state_rows=_state_rows(tensors) if recurrent else 0,
        )

    def input_rows(self) -> int:
        """Floats per token that live through all layers beside the hidden state."""
        per_layer = _at_least_zero(self._header, "embedding_length_per_layer_input")
        return 2 * per_layer * self._n_layers + self._known.input_copies * self._width

    def _cached_layers(self) -> int:
        shared = _at_least_zero(self._header, "attention.shared_kv_layers")
        if self._known.cached_layers is not None:
            return self._known.cached_layers
        return self._n_layers - shared

    def _head_widths(self, *, windowed: bool) -> tuple[int, int]:
        keys, values = max(0, self._header.key_length or 0), max(0, self._header.value_length or 0)
        if windowed:
            keys = _at_least_zero(self._header, "attention.key_length_swa") or keys
            values = _at_least_zero(self._header, "attention.value_length_swa") or values
        return keys, values

    def _experts_used(self, index: int) -> int:
        return _of_layer(self._header.expert_used_count, index)

    def _feed_forward(self, tensors: Tensors) -> int:
        """Floats per token: a gated feed-forward part holds gate, up and their product."""
        widest = 0
        for suffix in ("", "_exps", "_shexp", "_chexps"):
            down, up = tensors.get(f"ffn_down{suffix}.weight"), tensors.get(f"ffn_up{suffix}.weight")
            if down is None:
                continue
            width = down.shape[0]
            separate_gate = f"ffn_gate{suffix}.weight" in tensors
            joined = f"ffn_gate_up{suffix}.weight" in tensors or (
                up is not None and _columns(up) == 2 * width
            )
            chosen = _most(self._header.expert_used_count) if suffix == "_exps" else 1
            widest = max(widest, chosen * width * (3 if separate_gate or joined else 1))
        return widest

    def _state_bytes(self) -> int:
        """Convolution window plus state (`llama_hparams::n_embd_r` and `n_embd_s`), float32."""
        short_convolution = _at_least_zero(self._header, "shortconv.l_cache")
        if short_convolution:
            return _FLOAT * self._width * (short_convolution - 1)
        kernel, inner, state, groups = (
            _at_least_zero(self._header, f"ssm.{suffix}")
            for suffix in ("conv_kernel", "inner_size", "state_size", "group_count")
        )
        return _FLOAT * (max(0, kernel - 1) * (inner + 2 * groups * state) + state * inner)


def _of_layer(value: int | tuple[int, ...] | None, index: int) -> int:
    if isinstance(value, tuple):
        value = value[index] if index < len(value) else 0
    return max(0, value or 0)


def _state_rows(tensors: Tensors) -> int:
    """Twice what a recurrent layer projects a token to: the projection, and the scan's copy of it."""
    return 2 * sum(_columns(tensors[name]) for name in _RECURRENT_PROJECTIONS if name in tensors)


def _columns(tensor: TensorInfo) -> int:
    return tensor.shape[1] if len(tensor.shape) > 1 else 0


def _recurrent_layers(header: ModelHeader, known: Architecture) -> Callable[[int], bool]:
    if known.recurrent == "no_kv_heads":
        return lambda index: _of_layer(header.head_count_kv, index) == 0
    if known.recurrent == "interval":
        stated = header.per_layer("attention.recurrent_layers")
        if isinstance(stated, tuple):
            return lambda index: bool(_of_layer(stated, index))
        interval = _at_least_zero(header, "full_attention_interval") or 4
        return lambda index: (index + 1) % interval != 0
    return lambda index: known.recurrent in ("all", "parallel")


def _window_of(header: ModelHeader, known: Architecture, n_layers: int) -> Callable[[int], int]:
    """The window of each layer (`llama_hparams::set_swa_pattern`); 0 is full attention."""
    rule = known.window
    stated = header.get("attention.sliding_window")
    window = stated if isinstance(stated, int) else 0
    if rule is None or (isinstance(stated, int) and stated <= 0):
        return lambda index: 0
    if rule.only_with_layers and n_layers != rule.only_with_layers:
        return lambda index: 0
    window = (rule.fixed if window or rule.default else 0) or window or rule.default
    pattern = header.per_layer("attention.sliding_window_pattern")
    if isinstance(pattern, tuple):
        return lambda index: window if _of_layer(pattern, index) else 0
    every = rule.pattern if pattern is None else pattern
    if every <= 0:
        return lambda index: window
    full = 0 if rule.full_first else every - 1
    return lambda index: 0 if index % every == full else window
