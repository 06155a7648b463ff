"""Which attention a chat runs with: a conversation grows, so its rounds are paid at depth.

llama.cpp's flash attention on a CPU takes one row after the other until 64 of them come at once. 2000 tokens deep, 45
new tokens of SmolLM2 cost 348 ms with it and 193 ms without, a round of 8 rows 82 and 58, a plain step 25 and 26; with
an empty cache it is ahead, by a tenth (docs/log.md). `run` stays with llama.cpp's own choice.
"""

from __future__ import annotations

from dataclasses import replace

from specdec_cli.cli.requests import FLOAT_KV_TYPES, EngineOptions
from specdec_cli.gguf.header import ModelHeader
from specdec_cli.memory.read_shape import read_shape

_SMALL_BATCH = 128
"""Tokens of one native decode: all their scores are kept, and larger batches read no faster."""
_MOST_SCORES = 256 << 20
"""Bytes that the scores may take per model; beyond, flash attention is worth its slowness."""


def for_a_conversation(options: EngineOptions, headers: list[ModelHeader], *, has_gpu: bool) -> EngineOptions:
    """The options with `--flash-attn auto` decided: off where that is faster at depth and takes little memory."""
    kv_types = {options.kv_type, options.draft_kv_type or options.kv_type}
    if has_gpu or options.flash_attn != "auto" or not kv_types <= set(FLOAT_KV_TYPES):
        return options
    settings, _ = options.context_settings(default_threads=1)
    if any(_score_bytes(header, settings.n_ctx) > _MOST_SCORES for header in headers):
        return options
    return replace(options, flash_attn="off", batch=_SMALL_BATCH)


def _score_bytes(header: ModelHeader, n_ctx: int) -> int:
    """One number per head, position and token of a batch."""
    positions = min(n_ctx, header.context_length or n_ctx)
    heads = max((layer.heads for layer in read_shape(header).layers), default=0)
    return 4 * heads * positions * _SMALL_BATCH
