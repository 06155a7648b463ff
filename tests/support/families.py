"""Small vocabularies with the traits by which llama.cpp's `ggml-vocab-*` families differ from each other.

Each has what the real file has at the places that matter: tokenizer type, pre-tokenizer, special tokens and the
family's own pieces of text. Some share their tokens, as the real ones do: gpt-neox and mpt, qwen2 and qwen35,
llama-spm and (its first tokens) phi-3.
"""

from __future__ import annotations

from typing import Any

from specdec_cli.gguf.header import ModelHeader
from tests.support.headers import model_header, vocabulary_of

WORDS = [*"etaoinshrdlu", "the", "of", "and", "to", "in", "is", "that", "it", "was", "for", "are", "with"]


def _family(
    prefix: str,
    model: str,
    pre: str | None,
    special: list[str],
    bos: int | None,
    eos: int | None,
    tail: list[str] | None = None,
    **keys: Any,
) -> dict[str, Any]:
    tokens = [*special, *(prefix + word for word in WORDS), *(tail or [])]
    return vocabulary_of(
        tokens,
        model=model,
        pre=pre,
        control=[*special, *(tail or [])],
        bos_token_id=bos,
        eos_token_id=eos,
        **keys,
    )


_SPM = ["<unk>", "<s>", "</s>"]
_PHI_TAIL = ["<|endoftext|>", "<|assistant|>", "<|system|>", "<|end|>", "<|user|>", "<|placeholder1|>"]

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "aquila": ("llama", _family("a:", "gpt2", None, ["<|endoftext|>"], 0, 0)),
    "baichuan": ("baichuan", _family("▁b:", "llama", None, _SPM, 1, 2)),
    "command-r": (
        "command-r",
        _family("Ġc:", "gpt2", "command-r", ["<PAD>", "<BOS_TOKEN>", "<EOS_TOKEN>"], 1, 2),
    ),
    "deepseek-coder": (
        "llama",
        _family("Ġdc:", "gpt2", "deepseek-coder", ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"], 0, 1),
    ),
    "deepseek-llm": (
        "llama",
        _family("Ġdl:", "gpt2", "deepseek-llm", ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"], 0, 1),
    ),
    "falcon": ("falcon", _family("Ġf:", "gpt2", "falcon", [">>TITLE<<", "<|endoftext|>"], 1, 1)),
    "gemma": (
        "gemma3",
        _family("▁g:", "llama", "default", ["<pad>", "<eos>", "<bos>", "<unk>"], 2, 1, add_bos_token=True),
    ),
    "gemma-4": ("gemma4", _family("▁g4:", "gemma4", None, ["<pad>", "<eos>", "<bos>", "<unk>"], 2, 1)),
    "gpt-2": ("gpt2", _family("Ġ2:", "gpt2", "gpt-2", ["<|endoftext|>"], 0, 0)),
    "gpt-neox": ("gptneox", _family("Ġn:", "gpt2", None, ["<|endoftext|>"], 0, 0)),
    "mpt": ("mpt", _family("Ġn:", "gpt2", "mpt", ["<|endoftext|>"], 0, 0)),
    "llama-bpe": ("llama", _family("Ġl:", "gpt2", "llama-bpe", ["<|begin_of_text|>", "<|eot_id|>"], 0, 1)),
    "llama-spm": ("llama", _family("▁l:", "llama", "default", _SPM, 1, 2)),
    "phi-3": ("phi3", _family("▁l:", "llama", "default", _SPM, 1, 3 + len(WORDS), tail=_PHI_TAIL)),
    "qwen2": (
        "qwen2",
        _family("Ġq:", "gpt2", "qwen2", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], 0, 0),
    ),
    "qwen35": (
        "qwen2",
        _family("Ġq:", "gpt2", "qwen35", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], 0, 0),
    ),
    "refact": ("refact", _family("Ġr:", "gpt2", "refact", ["<|endoftext|>", "<fim_prefix>"], 0, 0)),
    "smollm": (
        "llama",
        _family("Ġs:", "gpt2", "smollm", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], 1, 2),
    ),
    "starcoder": (
        "starcoder2",
        _family("Ġsc:", "gpt2", "starcoder", ["<|endoftext|>", "<fim_prefix>"], 0, 0),
    ),
    "tekken": ("llama", _family("Ġt:", "gpt2", "tekken", ["<unk>", "<s>", "</s>", "[INST]"], 1, 2)),
}
"""Name → (architecture, vocabulary metadata). 20 families."""


def family_header(name: str) -> ModelHeader:
    """A small model of a family."""
    architecture, vocabulary = FAMILIES[name]
    return model_header(name, architecture=architecture, vocabulary=vocabulary)
