"""Which attention a chat runs with: a conversation grows, so its rounds are paid at depth.

llama.cpp's flash attention on a CPU takes one row after the other until 64 of them come at once. 2000 tokens deep, 45
new tokens of SmolLM2 cost 348 ms with it and 193 ms without, a round of 8 rows 82 and 58, a plain step 25 and 26; with
an empty cache it is ahead, by a tenth (docs/log.md). `run` stays with llama.cpp's own choice.
"""

from __future__ import annotations

from dataclasses import replace

from specdec_cli.cli.chat_memory import wishes_of
from specdec_cli.cli.models import ChosenModels
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.memory.check_kv import kv_findings
from specdec_cli.memory.compute import score_bytes

_SMALL_BATCH = 128
"""Tokens of one native decode: all their scores are kept, and larger batches read no faster."""
_MOST_SCORES = 256 << 20
"""Bytes that the scores may take per model; beyond, flash attention is worth its slowness."""


def for_a_conversation(options: EngineOptions, models: ChosenModels, *, has_gpu: bool) -> EngineOptions:
    """The options with `--flash-attn auto` decided: off where that is faster at depth and takes little memory."""
    if has_gpu or options.flash_attn != "auto":
        return options
    decided = replace(options, flash_attn="off", batch=_SMALL_BATCH)
    wishes = [wish for wish in wishes_of(decided, models) if wish is not None]
    if kv_findings(wishes) or any(score_bytes(wish) > _MOST_SCORES for wish in wishes):
        return options
    return decided
