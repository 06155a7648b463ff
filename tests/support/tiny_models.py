"""Tiny models for tests, in the layouts of real ones: what `gguf_files` needs to write them.

`write_tiny_model` makes a llama with random weights that llama.cpp loads in milliseconds and decodes with.
The other functions give metadata and tensor tables for preflight tests, which read no weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specdec_cli.gguf.types import GgmlType, TokenType
from tests.support.gguf_files import TensorSpec, write_gguf

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
BPE_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
BPE_MERGES = ("t h", "th e", "i n", "e r", "Ġ t", "Ġ a", "o n", "r e", "Ġt he", "a n")


def byte_characters() -> list[str]:
    """The 256 characters that byte-level BPE writes bytes as, by byte."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = iter(range(0x100, 0x200))
    return [chr(byte) if byte in shown else chr(next(hidden)) for byte in range(256)]


def bpe_vocabulary(
    size: int = 300, *, chat_template: str | None = CHATML, **overrides: Any
) -> dict[str, Any]:
    """A byte-level BPE vocabulary (`gpt2`): control tokens, bytes, merges, filler up to `size`.

    From 270 tokens on every text can be tokenized and comes back; below, only common ASCII characters can, and
    llama.cpp drops the others. `overrides` replace or, when None, remove metadata keys written with `_` for
    the dots behind `tokenizer.ggml.`: `add_bos_token=True`, `eos_token_id=None`.
    """
    characters = byte_characters()
    common = " \netaoinshrdlucmfwypvbgkjqxz0123456789.,:;!?'\"-()[]{}=+*/<>_ETAOINSHRDLUCMFWYPVBGKJQXZ"
    order = dict.fromkeys([*common.encode(), *range(256)])
    tokens = [*BPE_SPECIAL, *(characters[byte] for byte in order), *(m.replace(" ", "") for m in BPE_MERGES)]
    tokens = tokens[:size]
    tokens += [f"filler{number}" for number in range(size - len(tokens))]
    types = [TokenType.CONTROL if token in BPE_SPECIAL else TokenType.NORMAL for token in tokens]
    known = set(tokens)
    merges = [m for m in BPE_MERGES if {*m.split(), m.replace(" ", "")} <= known]
    vocabulary = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [int(kind) for kind in types],
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.add_bos_token": False,
    }
    return _finish(vocabulary, chat_template, overrides)


def spm_vocabulary(size: int = 300, *, chat_template: str | None = None, **overrides: Any) -> dict[str, Any]:
    """A SentencePiece vocabulary (`llama`) of at least 288 tokens: three special, 256 bytes, pieces, filler.

    `overrides` as in `bpe_vocabulary`.
    """
    pieces = ["▁", "▁t", "▁a", "he", "in", "▁the", "er", "on", *"etaoinshrdlucmfwypvbg"]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    types = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, *[TokenType.BYTE] * 256]
    types += [TokenType.NORMAL] * (len(tokens) - len(types))
    for number in range(size - len(tokens)):
        tokens.append(f"▁filler{number}")
        types.append(TokenType.NORMAL)
    vocabulary = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [-float(number) for number in range(len(tokens))],
        "tokenizer.ggml.token_type": [int(kind) for kind in types],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_bos_token": True,
    }
    return _finish(vocabulary, chat_template, overrides)


def _finish(
    vocabulary: dict[str, Any], chat_template: str | None, overrides: dict[str, Any]
) -> dict[str, Any]:
    if chat_template is not None:
        vocabulary["tokenizer.chat_template"] = chat_template
    for key, value in overrides.items():
        vocabulary[f"tokenizer.ggml.{key}"] = value
        if value is None:
            del vocabulary[f"tokenizer.ggml.{key}"]
    return vocabulary


def architecture_metadata(
    architecture: str = "llama",
    *,
    name: str = "tiny",
    layers: int = 2,
    embedding: int = 32,
    heads: int | list[int] = 4,
    heads_kv: int | list[int] | None = 2,
    feed_forward: int = 64,
    context: int = 512,
    file_type: int | None = 0,
    **extra: Any,
) -> dict[str, Any]:
    """`general.*` and `{architecture}.*` keys. `extra` adds more of the latter, `__` standing for a dot."""
    first_heads = heads[0] if isinstance(heads, list) else heads
    values: dict[str, Any] = {
        "general.architecture": architecture,
        "general.type": "model",
        "general.name": name,
        f"{architecture}.block_count": layers,
        f"{architecture}.context_length": context,
        f"{architecture}.embedding_length": embedding,
        f"{architecture}.feed_forward_length": feed_forward,
        f"{architecture}.attention.head_count": heads,
        f"{architecture}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{architecture}.rope.dimension_count": embedding // first_heads,
    }
    if heads_kv is not None:
        values[f"{architecture}.attention.head_count_kv"] = heads_kv
    if file_type is not None:
        values["general.file_type"] = file_type
    return values | {f"{architecture}.{key.replace('__', '.')}": value for key, value in extra.items()}


def llama_tensors(
    n_vocab: int,
    *,
    layers: int = 2,
    embedding: int = 32,
    heads: int = 4,
    heads_kv: int = 2,
    feed_forward: int = 64,
    experts: int = 0,
    tied: bool = True,
    ggml_type: int = GgmlType.F32,
) -> list[TensorSpec]:
    """The tensor table of a llama (with `experts`: of a mixture); matrices in `ggml_type`, norms in F32."""
    width = embedding // heads * heads_kv

    def matrix(name: str, *shape: int) -> TensorSpec:
        return TensorSpec(f"{name}.weight", shape, ggml_type)

    def norm(name: str) -> TensorSpec:
        return TensorSpec(f"{name}_norm.weight", (embedding,))

    tensors = [matrix("token_embd", embedding, n_vocab), norm("output")]
    if not tied:
        tensors.append(matrix("output", embedding, n_vocab))
    for layer in (f"blk.{number}" for number in range(layers)):
        tensors += [
            norm(f"{layer}.attn"),
            matrix(f"{layer}.attn_q", embedding, embedding),
            matrix(f"{layer}.attn_k", embedding, width),
            matrix(f"{layer}.attn_v", embedding, width),
            matrix(f"{layer}.attn_output", embedding, embedding),
            norm(f"{layer}.ffn"),
        ]
        if experts:
            tensors.append(TensorSpec(f"{layer}.ffn_gate_inp.weight", (embedding, experts)))
        suffix, stack = ("_exps", (experts,)) if experts else ("", ())
        tensors += [
            matrix(f"{layer}.ffn_gate{suffix}", embedding, feed_forward, *stack),
            matrix(f"{layer}.ffn_down{suffix}", feed_forward, embedding, *stack),
            matrix(f"{layer}.ffn_up{suffix}", embedding, feed_forward, *stack),
        ]
    return tensors


def write_tiny_model(
    path: Path,
    *,
    vocabulary: dict[str, Any] | None = None,
    seed: int = 0,
    layers: int = 2,
    embedding: int = 32,
    heads: int = 4,
    heads_kv: int = 2,
    feed_forward: int = 64,
    context: int = 512,
    experts: int = 0,
    ggml_type: int = GgmlType.F32,
    metadata: dict[str, Any] | None = None,
    sparse: bool = False,
) -> Path:
    """Write a llama with random weights (F32, F16 or Q8_0; any type when `sparse`). Same seed, same file.

    `metadata` adds to, or replaces, what is written. `experts` makes it a mixture that uses two of them.
    """
    words = bpe_vocabulary() if vocabulary is None else vocabulary
    mixture: dict[str, Any] = (
        {"expert_count": experts, "expert_used_count": min(2, experts)} if experts else {}
    )
    sizes: dict[str, Any] = {
        "layers": layers,
        "embedding": embedding,
        "heads": heads,
        "heads_kv": heads_kv,
        "feed_forward": feed_forward,
    }
    keys = architecture_metadata(context=context, **sizes, **mixture) | words | (metadata or {})
    tensors = llama_tensors(
        len(words["tokenizer.ggml.tokens"]), experts=experts, ggml_type=ggml_type, **sizes
    )
    return (
        write_gguf(path, keys, tensors, seed=seed)
        if not sparse
        else write_gguf(path, keys, tensors, sparse=True)
    )


def write_vocabulary_only(path: Path, vocabulary: dict[str, Any], architecture: str = "llama") -> Path:
    """A file with a vocabulary and no tensors, like llama.cpp's `ggml-vocab-*.gguf`."""
    return write_gguf(path, architecture_metadata(architecture) | vocabulary)


def write_embedding_model(path: Path) -> Path:
    """The header of a text-embedding model (`bert`): no causal attention, pooling, a WordPiece vocabulary."""
    tokens = [
        "[PAD]",
        *(f"[unused{number}]" for number in range(99)),
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "the",
    ]
    keys = architecture_metadata("bert", attention__causal=False, pooling_type=1, heads_kv=None)
    keys["bert.attention.layer_norm_epsilon"] = keys.pop("bert.attention.layer_norm_rms_epsilon")
    keys |= {
        "tokenizer.ggml.model": "bert",
        "tokenizer.ggml.pre": "jina-v2-en",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * len(tokens),
        "tokenizer.ggml.token_type_count": 2,
    }
    tensors = [
        TensorSpec("token_embd.weight", (32, len(tokens))),
        TensorSpec("token_embd_norm.weight", (32,)),
    ]
    return write_gguf(path, keys, tensors)


def write_draft_head(path: Path, kind: str = "eagle3") -> Path:
    """The header of a draft head, no model of its own: `eagle3`, `dflash` or `mtp` (next-token layers)."""
    if kind == "mtp":
        keys = architecture_metadata("qwen3", layers=1, nextn_predict_layers=1) | bpe_vocabulary()
        return write_gguf(path, keys, [TensorSpec("blk.0.nextn.eh_proj.weight", (64, 32))])
    keys = architecture_metadata(kind, layers=1)
    return write_gguf(
        path, keys, [TensorSpec("fc.weight", (96, 32)), TensorSpec("d2t", (64,), GgmlType.I64, bytes(512))]
    )
