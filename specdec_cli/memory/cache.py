"""Bytes of the KV cache and of recurrent states, layer by layer, as llama.cpp allocates them.

    full attention     cells × (key row + value row)
    sliding window     the same with fewer cells: window + batch, rounded up to 256, never more than the context;
                       all cells with `swa_full`
    recurrent state    one float32 state, whatever the context

Source: `llama_kv_cache`, `llama_kv_cache_iswa` and `llama_memory_recurrent` of llama.cpp.
"""

from __future__ import annotations

from specdec_cli.memory.shape import LayerShape
from specdec_cli.memory.wish import ModelWish
from specdec_cli.settings import KvType

KV_BLOCKS: dict[KvType, tuple[int, int]] = {
    "f32": (1, 4),
    "f16": (1, 2),
    "bf16": (1, 2),
    "q8_0": (32, 34),
    "q5_1": (32, 24),
    "q5_0": (32, 22),
    "q4_1": (32, 20),
    "q4_0": (32, 18),
}
"""For each type (elements per block, bytes per block)."""

_WINDOW_STEP = 256


def is_quantized(kv_type: KvType) -> bool:
    """Whether values are stored in blocks with a scale of their own."""
    return KV_BLOCKS[kv_type][0] > 1


def row_bytes(elements: int, kv_type: KvType) -> int:
    """Bytes of one cached row of so many elements. Rows that are no whole number of blocks are rounded up."""
    block_size, block_bytes = KV_BLOCKS[kv_type]
    return -(-elements // block_size) * block_bytes


def layer_cells(layer: LayerShape, wish: ModelWish) -> int:
    """Positions the cache of one layer holds."""
    if not layer.window or wish.settings.swa_full:
        return wish.cells
    needed = min(wish.cells, layer.window + wish.batch)
    return -(-needed // _WINDOW_STEP) * _WINDOW_STEP


def layer_cache_bytes(layer: LayerShape, wish: ModelWish) -> int:
    """Keys, values and recurrent state of one layer."""
    if not layer.keeps_kv:
        return layer.state_bytes
    value_width = layer.value_width
    if not wish.flash_attention and value_width:
        # Without flash attention values lie transposed, and every layer gets the width of the widest.
        value_width = max(other.value_width for other in wish.shape.layers)
    kv_type = wish.settings.kv_type
    row = row_bytes(layer.key_width, kv_type) + row_bytes(value_width, kv_type)
    return layer_cells(layer, wish) * row + layer.state_bytes


def cache_bytes(wish: ModelWish) -> int:
    """Keys, values and states of all layers."""
    return sum(layer_cache_bytes(layer, wish) for layer in wish.shape.layers)
