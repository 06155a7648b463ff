"""What is known of each architecture: where its attention windows are, and what its layers keep.

Facts of llama.cpp's model files (`src/models/*.cpp`, llama-cpp-python 0.3.36), checked against what it
allocates. An architecture that is not here is unknown to the plan, and the plan says so: a low number would
be worse than none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RecurrentRule = Literal["none", "all", "no_kv_heads", "interval", "parallel"]


@dataclass(frozen=True)
class WindowRule:
    """Which layers look back only so far. A pattern or window that the file states goes first."""

    pattern: int
    """Of so many layers in a row, one is full: the last, or the first with `full_first`."""
    full_first: bool = False
    default: int = 0
    """Window when the file states none; 0: no window then."""
    fixed: int = 0
    """Window whatever the file states (unless it states 0)."""
    only_with_layers: int = 0
    """Applies only to models of this many layers."""


@dataclass(frozen=True)
class Architecture:
    """What differs from the common case: full attention and a KV cache in every layer."""

    window: WindowRule | None = None
    recurrent: RecurrentRule = "none"
    """Which layers keep a state instead of (`parallel`: beside) keys and values: none, all, those without KV
    heads, or all but every nth (`full_attention_interval`)."""
    cached_layers: int | None = None
    """Only the first so many layers have a cache of their own; the rest read it."""
    input_copies: int = 0
    """Further copies of the hidden state that live through all layers."""
    ignores_window: bool = False
    """Its file states a window that llama.cpp does not use."""


_PLAIN = """
llama mistral3 deci falcon gpt2 gptj gptneox mpt baichuan starcoder starcoder2 refact bloom stablelm qwen
qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3vl qwen3vlmoe phi2 phimoe plamo codeshell orion internlm2 minicpm
gemma xverse command-r dbrx olmo olmoe openelm arctic deepseek chatglm glm4 glm4moe bitnet jais nemotron
exaone granite granitemoe chameleon bailingmoe bailingmoe2 dots1 arcee ernie4_5 ernie4_5-moe hunyuan-moe
hunyuan-dense smollm3 seed_oss grovemoe apertus pangu-embedded minimax-m2 maincoder
"""

ARCHITECTURES: dict[str, Architecture] = {
    **{name: Architecture() for name in _PLAIN.split()},
    "phi3": Architecture(ignores_window=True),
    "gemma2": Architecture(WindowRule(2, default=4096)),
    "gemma3": Architecture(WindowRule(6)),
    "gemma3n": Architecture(WindowRule(5), cached_layers=20, input_copies=2),
    "gemma4": Architecture(WindowRule(0)),
    "cohere2": Architecture(WindowRule(4)),
    "gpt-oss": Architecture(WindowRule(2)),
    "olmo2": Architecture(WindowRule(4)),
    "exaone4": Architecture(WindowRule(4, default=4096, only_with_layers=64)),
    "llama4": Architecture(WindowRule(4, default=8192, fixed=8192)),
    "smallthinker": Architecture(WindowRule(4, full_first=True, fixed=4096)),
    "mellum": Architecture(WindowRule(4)),
    "mamba": Architecture(recurrent="all"),
    "mamba2": Architecture(recurrent="all"),
    "lfm2": Architecture(recurrent="no_kv_heads"),
    "lfm2moe": Architecture(recurrent="no_kv_heads"),
    "granitehybrid": Architecture(recurrent="no_kv_heads"),
    "falcon-h1": Architecture(recurrent="parallel"),
    "qwen3next": Architecture(recurrent="interval"),
    "qwen35": Architecture(recurrent="interval"),
    "qwen35moe": Architecture(recurrent="interval"),
}
