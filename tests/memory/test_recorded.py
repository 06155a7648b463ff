"""The formulas against figures llama.cpp 0.3.36 gave for two real models: no file needed.

Recorded with `llama/exact.py`, five rows of logits, in MiB. `test_exact.py` asks llama.cpp anew.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from specdec_cli.memory.cache import cache_bytes
from specdec_cli.memory.compute import compute_bytes
from specdec_cli.memory.shape import ModelShape
from specdec_cli.memory.wish import ModelWish
from specdec_cli.settings import ContextSettings, KvType
from tests.support.model_shapes import dense_shape

MIB = 1 << 20
ROWS = 5

# model, context, KV type, swa_full, weights, cache, compute
RECORDED: list[tuple[str, int, KvType, bool, float, float, float]] = [
    ("smollm2-135m", 512, "f16", True, 92.10, 11.25, 14.20),
    ("smollm2-135m", 512, "f16", False, 92.10, 11.25, 14.20),
    ("smollm2-135m", 512, "q8_0", True, 92.10, 5.98, 13.11),
    ("smollm2-135m", 512, "q8_0", False, 92.10, 5.98, 13.11),
    ("smollm2-135m", 2048, "f16", True, 92.10, 45.00, 15.70),
    ("smollm2-135m", 2048, "f16", False, 92.10, 45.00, 15.70),
    ("smollm2-135m", 2048, "q8_0", True, 92.10, 23.91, 14.61),
    ("smollm2-135m", 2048, "q8_0", False, 92.10, 23.91, 14.61),
    ("smollm2-135m", 8192, "f16", True, 92.10, 180.00, 21.70),
    ("smollm2-135m", 8192, "f16", False, 92.10, 180.00, 21.70),
    ("smollm2-135m", 8192, "q8_0", True, 92.10, 95.62, 20.61),
    ("smollm2-135m", 8192, "q8_0", False, 92.10, 95.62, 20.61),
    ("gemma3-270m", 512, "f16", True, 235.16, 9.00, 19.77),
    ("gemma3-270m", 512, "f16", False, 235.16, 9.00, 19.77),
    ("gemma3-270m", 512, "q8_0", True, 235.16, 4.78, 20.30),
    ("gemma3-270m", 512, "q8_0", False, 235.16, 4.78, 20.30),
    ("gemma3-270m", 2048, "f16", True, 235.16, 36.00, 22.77),
    ("gemma3-270m", 2048, "f16", False, 235.16, 21.00, 21.77),
    ("gemma3-270m", 2048, "q8_0", True, 235.16, 19.13, 23.30),
    ("gemma3-270m", 2048, "q8_0", False, 235.16, 11.16, 22.30),
    ("gemma3-270m", 8192, "f16", True, 235.16, 144.00, 34.77),
    ("gemma3-270m", 8192, "f16", False, 235.16, 39.00, 27.77),
    ("gemma3-270m", 8192, "q8_0", True, 235.16, 76.50, 35.30),
    ("gemma3-270m", 8192, "q8_0", False, 235.16, 20.72, 28.30),
]

_GEMMA_LAYERS = "LLSSLSSLSSLSSLSLLL"
"""Its Q4_K_M file stores some layers (L) with larger value and down matrices than others (S)."""


def recorded_shape(model: str) -> ModelShape:
    """Shapes with the weight bytes of the real files' tensor tables."""
    if model == "smollm2-135m":
        layer_bytes, embedding, norm = [2216448] * 30, 30081024, 2304
    else:
        layer_bytes = [3995648 if size == "L" else 3596288 for size in _GEMMA_LAYERS]
        embedding, norm = 178257920, 2560
    shape = dense_shape(model)
    layers = tuple(
        replace(layer, weight_bytes=size) for layer, size in zip(shape.layers, layer_bytes, strict=True)
    )
    return replace(shape, layers=layers, input_bytes=embedding, output_bytes=norm)


@pytest.mark.parametrize(("model", "n_ctx", "kv_type", "swa_full", "weights", "cache", "compute"), RECORDED)
def test_recorded_sizes(
    model: str, n_ctx: int, kv_type: KvType, swa_full: bool, weights: float, cache: float, compute: float
) -> None:
    settings = ContextSettings(n_ctx=n_ctx, kv_type=kv_type, swa_full=swa_full)
    wish = ModelWish(recorded_shape(model), settings, ROWS)
    buffers = compute_bytes(wish)
    planned = wish.shape.weight_bytes + cache_bytes(wish) + buffers.working + buffers.handed_out
    assert wish.shape.weight_bytes == pytest.approx(weights * MIB, rel=0.01)
    assert cache_bytes(wish) == pytest.approx(cache * MIB, rel=0.01)
    assert planned == pytest.approx((weights + cache + compute) * MIB, rel=0.1)


def test_logits_for_every_token_of_a_batch_dominate() -> None:
    """What `max_rows` is for: llama.cpp reserves 514.50 MiB for Gemma 270M when all 512 rows are asked for."""
    wish = ModelWish(recorded_shape("gemma3-270m"), ContextSettings(n_ctx=2048), 512)
    assert compute_bytes(wish).working == pytest.approx(514.5 * MIB, rel=0.02)


def test_without_flash_attention_scores_dominate() -> None:
    """166.38 MiB for SmolLM2 at 8192 instead of 21.51."""
    wish = ModelWish(recorded_shape("smollm2-135m"), ContextSettings(n_ctx=8192, flash_attention="off"), ROWS)
    assert compute_bytes(wish).working == pytest.approx(166.38 * MIB, rel=0.02)
