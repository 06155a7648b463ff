"""Every default value of specdec, in one file. Frozen values; `-v` prints them.

Our defaults are ours: they do not change because a library underneath changes its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

KvType = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"]
FlashAttention = Literal["auto", "on", "off"]
AcceptRule = Literal["auto", "match", "reject"]


@dataclass(frozen=True)
class SamplingSettings:
    """How the next token is chosen from the target's logits. Meaning and order are llama.cpp's."""

    temperature: float = 0.0
    """0 is greedy: always the most likely token."""
    top_k: int = 40
    """0 or less is off."""
    top_p: float = 0.95
    """1.0 is off."""
    min_p: float = 0.05
    """0.0 is off."""
    typical_p: float = 1.0
    """1.0 is off."""
    repeat_penalty: float = 1.0
    """1.0 is off."""
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    penalty_last_n: int = 64
    """How many of the last tokens the penalties look at; -1 is the whole context, 0 is off."""
    dry_multiplier: float = 0.0
    """0.0 is off."""
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = -1
    xtc_probability: float = 0.0
    """0.0 is off."""
    xtc_threshold: float = 0.1
    logit_bias: tuple[tuple[int, float], ...] = ()
    """Pairs (token id, value added to its logit)."""
    seed: int = 0


@dataclass(frozen=True)
class ContextSettings:
    """How one model is loaded and how its context is made."""

    n_ctx: int = 4096
    """Wished context size; never more than the model was trained on unless the user says so."""
    n_batch: int = 512
    """Most tokens one native decode takes; longer prompts are split."""
    threads: int | None = None
    """None: chosen from the machine's physical cores and container limits."""
    gpu_layers: int = -1
    """How many layers to place on the GPU; -1 is all of them."""
    kv_type: KvType = "f16"
    flash_attention: FlashAttention = "auto"
    memory_map: bool = True
    """Map the file instead of reading it. Read, a file whose tensors the CPU backend repacks is in memory once,
    not twice: right for a draft, which is small."""
    swa_full: bool = True
    """Full-size cache for sliding-window layers, so that rollback is never limited by the window."""


@dataclass(frozen=True)
class DraftSettings:
    """Which drafter proposes, and how far."""

    drafter: str = "auto"
    draft_max: int = 16
    """The most tokens a draft may hold. A hard bound."""
    accept: AcceptRule = "auto"


@dataclass(frozen=True)
class GenerationSettings:
    """When a generation ends."""

    max_tokens: int = 512
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class BenchSettings:
    """How much a bench measures."""

    runs: int = 3
    """Prompts per task, each new."""
    max_tokens: int = 128
    """Of each answer."""


@dataclass(frozen=True)
class TuneSettings:
    """What a tuning tries, and how much each of its questions measures."""

    tasks: tuple[str, ...] = ("code", "chat", "edit")
    runs: int = 2
    """Prompts per task."""
    max_tokens: int = 64
    lengths: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 12, 16)
    """Of drafts."""
    kv_types: tuple[KvType, ...] = ("f16", "q8_0")


DEFAULT_SAMPLING = SamplingSettings()
DEFAULT_CONTEXT = ContextSettings()
DEFAULT_DRAFT = DraftSettings()
DEFAULT_GENERATION = GenerationSettings()
DEFAULT_BENCH = BenchSettings()
DEFAULT_TUNE = TuneSettings()
