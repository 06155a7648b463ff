"""Headers of many architectures in realistic sizes, with holes for weights: llama.cpp lays them out with `no_alloc`.

write_model(path, transformer("llama", 32, 4096, 14336, heads=32, kv_heads=8, head_width=128, vocabulary=128256))
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specdec_cli.gguf.types import GgmlType
from tests.support.gguf_files import TensorSpec, write_gguf

WEIGHT = GgmlType.Q8_0


@dataclass
class ModelFile:
    """Metadata without the architecture's prefix, and tensors by name."""

    architecture: str
    vocabulary: int
    metadata: dict[str, Any]
    tensors: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def add(self, **tensors: tuple[int, ...]) -> None:
        """Tensors outside layers; `__` stands for a dot, `.weight` is added."""
        for name, shape in tensors.items():
            self.tensors[name.replace("__", ".") + ".weight"] = shape

    def layer(self, index: int, **tensors: tuple[int, ...]) -> None:
        """Tensors of a layer; a name that ends with `_` gets no `.weight`, `__bias` becomes `.bias`."""
        for name, shape in tensors.items():
            plain = name.endswith("_") or "__" in name
            self.tensors[
                f"blk.{index}.{name.removesuffix('_').replace('__', '.')}{'' if plain else '.weight'}"
            ] = shape

    def header(self) -> tuple[dict[str, Any], list[TensorSpec]]:
        """What `write_gguf` wants. A model without tokens, so that no vocabulary has to be written."""
        metadata = {
            "general.architecture": self.architecture,
            "tokenizer.ggml.model": "no_vocab",
            f"{self.architecture}.vocab_size": self.vocabulary,
        }
        metadata |= {f"{self.architecture}.{key}": value for key, value in self.metadata.items()}
        tensors = [
            TensorSpec(name, shape, WEIGHT if len(shape) > 1 and shape[0] % 32 == 0 else GgmlType.F32)
            for name, shape in self.tensors.items()
        ]
        return metadata, tensors


def write_model(path: Path, model: ModelFile) -> Path:
    """Write it sparsely."""
    metadata, tensors = model.header()
    return write_gguf(path, metadata, tensors, sparse=True)


def transformer(
    architecture: str,
    layers: int,
    width: int,
    feed_forward: int,
    *,
    heads: int,
    kv_heads: int,
    head_width: int,
    vocabulary: int,
    tied: bool = False,
    bias: bool = False,
    query_norms: bool = False,
    post_norms: bool = False,
    experts: tuple[int, int, int] | None = None,
    **more: Any,
) -> ModelFile:
    """A usual transformer. `experts`: (count, used, width of one). `more`: metadata, `__` for a dot."""
    model = ModelFile(
        architecture,
        vocabulary,
        {
            "context_length": 32768,
            "embedding_length": width,
            "block_count": layers,
            "feed_forward_length": feed_forward,
            "attention.head_count": heads,
            "attention.head_count_kv": kv_heads,
            "attention.key_length": head_width,
            "attention.value_length": head_width,
            "attention.layer_norm_rms_epsilon": 1e-6,
            "rope.dimension_count": head_width,
            **{key.replace("__", "."): value for key, value in more.items()},
        },
    )
    if experts:
        count, used, expert_width = experts
        model.metadata |= {
            "expert_count": count,
            "expert_used_count": used,
            "expert_feed_forward_length": expert_width,
        }
    model.add(token_embd=(width, vocabulary), output_norm=(width,))
    if not tied:
        model.add(output=(width, vocabulary))
    for index in range(layers):
        add_attention(model, index, width, heads * head_width, kv_heads * head_width, bias=bias)
        model.layer(index, attn_norm=(width,), ffn_norm=(width,))
        if query_norms:
            model.layer(index, attn_q_norm=(head_width,), attn_k_norm=(head_width,))
        if post_norms:
            model.layer(index, post_attention_norm=(width,), post_ffw_norm=(width,))
        if experts:
            add_experts(model, index, width, *experts)
        else:
            add_feed_forward(model, index, width, feed_forward)
    return model


def add_attention(
    model: ModelFile, index: int, width: int, queries: int, keys: int, *, bias: bool = False
) -> None:
    model.layer(
        index,
        attn_q=(width, queries),
        attn_k=(width, keys),
        attn_v=(width, keys),
        attn_output=(queries, width),
    )
    if bias:
        model.layer(index, attn_q__bias=(queries,), attn_k__bias=(keys,), attn_v__bias=(keys,))


def add_feed_forward(model: ModelFile, index: int, width: int, inner: int) -> None:
    model.layer(index, ffn_gate=(width, inner), ffn_up=(width, inner), ffn_down=(inner, width))


def add_experts(model: ModelFile, index: int, width: int, count: int, used: int, inner: int) -> None:
    del used
    model.layer(
        index,
        ffn_gate_inp=(width, count),
        ffn_gate_exps=(width, inner, count),
        ffn_up_exps=(width, inner, count),
        ffn_down_exps=(inner, width, count),
    )


def gemma4(layers: int, *, shared_layers: int, per_layer: int) -> ModelFile:
    """Windows and full attention with different head widths, layers that share a cache, per-layer embeddings."""
    width, inner, heads, vocabulary = 1536, 6144, 8, 32000
    windowed = [(index + 1) % 5 != 0 for index in range(layers)]
    model = ModelFile(
        "gemma4",
        vocabulary,
        {
            "context_length": 131072,
            "embedding_length": width,
            "block_count": layers,
            "feed_forward_length": inner,
            "attention.head_count": heads,
            "attention.head_count_kv": 1,
            "attention.key_length": 512,
            "attention.value_length": 512,
            "attention.key_length_swa": 256,
            "attention.value_length_swa": 256,
            "attention.layer_norm_rms_epsilon": 1e-6,
            "attention.sliding_window": 512,
            "attention.sliding_window_pattern": windowed,
            "attention.shared_kv_layers": shared_layers,
            "embedding_length_per_layer_input": per_layer,
            "rope.dimension_count": 512,
            "rope.dimension_count_swa": 256,
        },
    )
    model.add(token_embd=(width, vocabulary), output_norm=(width,), rope_freqs=(256,))
    model.add(per_layer_token_embd=(per_layer * layers, vocabulary), per_layer_proj_norm=(per_layer,))
    model.add(per_layer_model_proj=(width, per_layer * layers))
    for index in range(layers):
        head = 256 if windowed[index] else 512
        add_attention(model, index, width, heads * head, head)
        add_feed_forward(model, index, width, inner)
        model.layer(
            index, attn_norm=(width,), ffn_norm=(width,), post_attention_norm=(width,), post_norm=(width,)
        )
        model.layer(index, post_ffw_norm=(width,), attn_q_norm=(head,), attn_k_norm=(head,))
        model.layer(index, inp_gate=(width, per_layer), proj=(per_layer, width))
    return model


def gpt_oss(layers: int) -> ModelFile:
    """Experts, biases everywhere, attention sinks, every other layer windowed."""
    width, inner, experts = 2880, 2880, 32
    model = transformer(
        "gpt-oss", layers, width, inner, heads=64, kv_heads=8, head_width=64, vocabulary=201088, bias=True,
        experts=(experts, 4, inner), attention__sliding_window=128,
    )  # fmt: skip
    for index in range(layers):
        del model.tensors[f"blk.{index}.ffn_norm.weight"]
        model.layer(index, post_attention_norm=(width,), attn_sinks=(64,), attn_output__bias=(width,))
        model.layer(index, ffn_gate_inp__bias=(experts,))
        for name, size in (("gate", inner), ("up", inner), ("down", width)):
            model.tensors[f"blk.{index}.ffn_{name}_exps.bias"] = (size, experts)
    return model


def mamba2(layers: int, width: int = 768, state: int = 128) -> ModelFile:
    """No attention at all."""
    inner, vocabulary = 2 * width, 50280
    rank, convolved = inner // 64, inner + 2 * state
    model = ModelFile(
        "mamba2",
        vocabulary,
        {
            "context_length": 1 << 20,
            "embedding_length": width,
            "block_count": layers,
            "feed_forward_length": 0,
            "attention.head_count": 0,
            "attention.layer_norm_rms_epsilon": 1e-5,
            "ssm.conv_kernel": 4,
            "ssm.inner_size": inner,
            "ssm.state_size": state,
            "ssm.time_step_rank": rank,
            "ssm.group_count": 1,
        },
    )
    model.add(token_embd=(width, vocabulary), output_norm=(width,))
    for index in range(layers):
        model.layer(
            index, attn_norm=(width,), ssm_in=(width, inner + convolved + rank), ssm_out=(inner, width)
        )
        model.layer(index, ssm_conv1d=(4, convolved), ssm_conv1d__bias=(convolved,), ssm_norm=(inner, 1))
        model.layer(index, ssm_dt__bias=(rank,), ssm_a_=(1, rank), ssm_d_=(1, rank))
    return model


def lfm2(layers: int = 16) -> ModelFile:
    """Short convolutions, and attention in the layers that have KV heads."""
    width, inner, vocabulary = 2048, 8192, 65536
    kv_heads = [8 if index in (2, 5, 8, 10, 12, 14) else 0 for index in range(layers)]
    model = ModelFile(
        "lfm2",
        vocabulary,
        {
            "context_length": 128000,
            "embedding_length": width,
            "block_count": layers,
            "feed_forward_length": inner,
            "attention.head_count": 32,
            "attention.head_count_kv": kv_heads,
            "attention.layer_norm_rms_epsilon": 1e-5,
            "shortconv.l_cache": 3,
        },
    )
    model.add(token_embd=(width, vocabulary), token_embd_norm=(width,))
    for index in range(layers):
        add_feed_forward(model, index, width, inner)
        model.layer(index, ffn_norm=(width,), attn_norm=(width,))
        if kv_heads[index]:
            add_attention(model, index, width, width, 512)
            model.layer(index, attn_q_norm=(64,), attn_k_norm=(64,))
        else:
            model.layer(index, shortconv__conv__weight=(3, width))
            model.layer(index, shortconv__in_proj__weight=(width, 3 * width))
            model.layer(index, shortconv__out_proj__weight=(width, width))
    return model


def qwen35(layers: int = 32) -> ModelFile:
    """Three gated delta nets, then one attention layer with gated queries."""
    width, inner, heads, kv_heads, head, vocabulary = 2560, 9216, 16, 4, 256, 248320
    state, key_heads, value_heads = 128, 16, 32
    keys, values = state * key_heads, state * value_heads
    model = ModelFile(
        "qwen35",
        vocabulary,
        {
            "context_length": 262144,
            "embedding_length": width,
            "block_count": layers,
            "feed_forward_length": inner,
            "attention.head_count": heads,
            "attention.head_count_kv": kv_heads,
            "attention.key_length": head,
            "attention.value_length": head,
            "attention.layer_norm_rms_epsilon": 1e-6,
            "rope.dimension_count": 64,
            "rope.dimension_sections": [11, 11, 10, 0],
            "ssm.conv_kernel": 4,
            "ssm.inner_size": values,
            "ssm.state_size": state,
            "ssm.time_step_rank": value_heads,
            "ssm.group_count": key_heads,
            "full_attention_interval": 4,
        },
    )
    model.add(token_embd=(width, vocabulary), output_norm=(width,))
    for index in range(layers):
        add_feed_forward(model, index, width, inner)
        model.layer(index, attn_norm=(width,), post_attention_norm=(width,))
        if (index + 1) % 4 == 0:
            add_attention(model, index, width, heads * head, kv_heads * head)
            model.layer(index, attn_q=(width, 2 * heads * head), attn_q_norm=(head,), attn_k_norm=(head,))
        else:
            model.layer(index, attn_qkv=(width, 2 * keys + values), attn_gate=(width, values))
            model.layer(
                index, ssm_conv1d=(4, 2 * keys + values), ssm_dt__bias=(value_heads,), ssm_a_=(value_heads,)
            )
            model.layer(index, ssm_beta=(width, value_heads), ssm_alpha=(width, value_heads))
            model.layer(index, ssm_norm=(state,), ssm_out=(values, width))
    return model


MODELS = {
    "llama 8b": lambda: transformer(
        "llama", 32, 4096, 14336, heads=32, kv_heads=8, head_width=128, vocabulary=128256
    ),
    "qwen2.5 32b": lambda: transformer(
        "qwen2", 64, 5120, 27648, heads=40, kv_heads=8, head_width=128, vocabulary=152064, bias=True
    ),
    "qwen3 8b": lambda: transformer(
        "qwen3", 36, 4096, 12288, heads=32, kv_heads=8, head_width=128, vocabulary=151936, query_norms=True
    ),
    "gemma2 9b": lambda: transformer(
        "gemma2", 42, 3584, 14336, heads=16, kv_heads=8, head_width=256, vocabulary=256000, tied=True,
        post_norms=True,
    ),
    "gemma3 12b": lambda: transformer(
        "gemma3", 48, 3840, 15360, heads=16, kv_heads=8, head_width=256, vocabulary=262144, tied=True,
        post_norms=True, query_norms=True, attention__sliding_window=1024,
    ),
    "qwen3moe 30b": lambda: transformer(
        "qwen3moe", 48, 2048, 6144, heads=32, kv_heads=4, head_width=128, vocabulary=151936, query_norms=True,
        experts=(128, 8, 768),
    ),
    "mixtral": lambda: transformer(
        "llama", 32, 4096, 14336, heads=32, kv_heads=8, head_width=128, vocabulary=32000, experts=(8, 2, 14336)
    ),
    "gpt-oss 20b": lambda: gpt_oss(24),
    "gemma4 shared": lambda: gemma4(35, shared_layers=20, per_layer=256),
    "mamba2": lambda: mamba2(24),
    "lfm2": lfm2,
    "qwen35 4b": qwen35,
}  # fmt: skip
