"""Bytes of the compute buffers: what one decode of a full batch holds at its worst moment.

llama.cpp lays out its graph once, for a full batch at the end of a full context. Three moments compete for the
peak, on top of the attention masks, which live all through:

    feed-forward    the hidden state in four copies, and gate, up and product
    attention       queries, keys, values and output; without flash attention the scores as well,
                    heads × cells × batch, which at long contexts is far more than all the rest
    output          one row of logits for every row that is asked for

Coefficients were fitted to what llama.cpp 0.3.36 reserves for 20 models from 135M to 70B (`tests/memory`
holds the figures): the fit errs to the high side, by up to 10 % or 32 MiB of a model's total.
"""

from __future__ import annotations

from dataclasses import dataclass

from specdec_cli.memory.cache import layer_cells
from specdec_cli.memory.shape import LayerShape
from specdec_cli.memory.wish import ModelWish

_FLOAT = 4
_HALF = 2


@dataclass(frozen=True)
class ComputeBytes:
    """Compute buffers of one context."""

    working: int
    """On each device that computes layers or the output."""
    inputs: int
    """In system memory when layers are computed elsewhere: embedded tokens and masks."""
    handed_out: int
    """In system memory always: the rows of logits that a decode hands out."""


def compute_bytes(wish: ModelWish) -> ComputeBytes:
    """Compute buffers for one model's context."""
    inputs = _mask_bytes(wish) + _FLOAT * wish.batch * wish.shape.input_rows
    working = max((_layer_bytes(layer, wish) for layer in wish.shape.layers), default=0)
    rows = wish.max_rows
    logits = _FLOAT * rows * (wish.shape.n_vocab + 4 * wish.shape.embedding_length)
    embedding = _FLOAT * wish.batch * wish.shape.embedding_length
    return ComputeBytes(
        working=inputs + max(working, logits),
        inputs=inputs + embedding,
        handed_out=_FLOAT * rows * wish.shape.n_vocab,
    )


def score_bytes(wish: ModelWish) -> int:
    """Of what a full batch holds without flash attention, the attention scores: those of the largest layer."""
    return max((_score_bytes(layer, wish) for layer in wish.shape.layers if layer.kv_heads), default=0)


def _score_bytes(layer: LayerShape, wish: ModelWish) -> int:
    return _FLOAT * wish.batch * layer.heads * layer_cells(layer, wish)


def _mask_bytes(wish: ModelWish) -> int:
    """One mask per kind of layer: cells × batch, in half precision with flash attention."""
    element = _HALF if wish.flash_attention else _FLOAT
    attending = [layer for layer in wish.shape.layers if layer.kv_heads]
    kinds = {(layer.window > 0): layer_cells(layer, wish) for layer in attending}
    return sum(cells * wish.batch * element for cells in kinds.values())


def _layer_bytes(layer: LayerShape, wish: ModelWish) -> int:
    """The most that one layer holds at once."""
    width = wish.shape.embedding_length
    feed_forward = layer.feed_forward + 4 * width
    if layer.expert_rows:
        # Either the chosen experts' inner activations, or their outputs twice (before and after weighting).
        inner = layer.feed_forward // 3
        feed_forward = max(layer.feed_forward + 5 * width, 2 * layer.expert_rows + inner + 3 * width)
    queries = layer.heads * layer.key_length
    attention = 2 * queries + 4 * width + layer.key_width + layer.value_width
    recurrent = layer.state_rows + 5 * width if layer.state_bytes else 0
    per_token = max(feed_forward, attention, recurrent)
    working = _FLOAT * wish.batch * per_token
    if not wish.flash_attention and layer.kv_heads:
        working = max(working, _score_bytes(layer, wish) + _FLOAT * wish.batch * attention)
    return working + 2 * layer.state_bytes
