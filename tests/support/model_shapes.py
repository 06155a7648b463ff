"""Shapes of well-known models, from the numbers in their configuration; no file needed.

    dense_shape("gemma3-12b", "Q8_0")

Weight bytes are elements × bits per weight ÷ 8: within 1 % of the published files.
"""

from __future__ import annotations

from dataclasses import dataclass

from specdec_cli.memory.shape import LayerShape, ModelShape

BITS = {"F32": 32.0, "F16": 16.0, "Q8_0": 8.5, "Q4_K_M": 4.85, "Q4_1": 5.0, "Q4_0": 4.5}


@dataclass(frozen=True)
class Dimensions:
    layers: int
    width: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_width: int
    vocabulary: int
    tied: bool = False
    window: int = 0
    full_every: int = 0
    architecture: str = "llama"
    context: int = 32768


MODELS = {
    "smollm2-135m": Dimensions(30, 576, 1536, 9, 3, 64, 49152, tied=True, context=8192),
    "gemma3-270m": Dimensions(
        18, 640, 2048, 4, 1, 256, 262144, tied=True, window=512, full_every=6, architecture="gemma3"
    ),
    "gemma3-1b": Dimensions(
        26, 1152, 6912, 4, 1, 256, 262144, tied=True, window=512, full_every=6, architecture="gemma3"
    ),
    "gemma3-12b": Dimensions(
        48, 3840, 15360, 16, 8, 256, 262144, tied=True, window=1024, full_every=6, architecture="gemma3"
    ),
    "gemma2-9b": Dimensions(
        42, 3584, 14336, 16, 8, 256, 256000, tied=True, window=4096, full_every=2, architecture="gemma2"
    ),
    "qwen2.5-0.5b": Dimensions(24, 896, 4864, 14, 2, 64, 151936, tied=True, architecture="qwen2"),
    "qwen2.5-1.5b": Dimensions(28, 1536, 8960, 12, 2, 128, 151936, tied=True, architecture="qwen2"),
    "qwen2.5-7b": Dimensions(28, 3584, 18944, 28, 4, 128, 152064, architecture="qwen2"),
    "qwen2.5-14b": Dimensions(48, 5120, 13824, 40, 8, 128, 152064, architecture="qwen2"),
    "qwen2.5-32b": Dimensions(64, 5120, 27648, 40, 8, 128, 152064, architecture="qwen2"),
    "qwen2.5-72b": Dimensions(80, 8192, 29568, 64, 8, 128, 152064, architecture="qwen2"),
    "llama3.2-1b": Dimensions(16, 2048, 8192, 32, 8, 64, 128256, tied=True, context=131072),
    "llama3.1-8b": Dimensions(32, 4096, 14336, 32, 8, 128, 128256, context=131072),
    "llama3.3-70b": Dimensions(80, 8192, 28672, 64, 8, 128, 128256, context=131072),
}


def dense_shape(model: str, quantization: str = "Q8_0") -> ModelShape:
    """The shape of a model by its name in `MODELS`."""
    size = MODELS[model]
    bits = BITS[quantization]
    queries, keys = size.heads * size.head_width, size.kv_heads * size.head_width
    projections = size.width * (2 * queries + 2 * keys)
    elements = projections + 3 * size.width * size.feed_forward
    layer_bytes = round(elements * bits / 8)
    embedding = size.vocabulary * size.width
    layers = tuple(
        LayerShape(
            weight_bytes=layer_bytes,
            largest_tensor_bytes=round(size.width * size.feed_forward * bits / 8),
            heads=size.heads,
            kv_heads=size.kv_heads,
            key_length=size.head_width,
            value_length=size.head_width,
            window=size.window if size.window and (index + 1) % size.full_every else 0,
            feed_forward=3 * size.feed_forward,
        )
        for index in range(size.layers)
    )
    return ModelShape(
        name=model,
        architecture=size.architecture,
        n_vocab=size.vocabulary,
        embedding_length=size.width,
        context_length=size.context,
        layers=layers,
        input_bytes=round(embedding * bits / 8),
        output_bytes=0 if size.tied else round(embedding * bits / 8),
        tied_bytes=round(embedding * bits / 8) if size.tied else 0,
        parameters=elements * size.layers + embedding * (1 if size.tied else 2),
        quantization={"Q4_K_M": "Q4_K"}.get(quantization, quantization),
    )
