"""KV types that cannot work, and those that cost: found before anything is loaded."""

from __future__ import annotations

from collections.abc import Iterable

from specdec_cli.findings import Finding
from specdec_cli.memory.cache import KV_BLOCKS, is_quantized
from specdec_cli.memory.wish import ModelWish


def kv_findings(wishes: Iterable[ModelWish]) -> tuple[Finding, ...]:
    """Errors that llama.cpp would only meet when it makes the context. Not overridable: it cannot be made."""
    found: dict[str, Finding] = {}
    for wish in wishes:
        for finding in (*_needs_flash_attention(wish), *_needs_whole_blocks(wish)):
            found.setdefault(finding.message, finding)
    return tuple(found.values())


def _needs_flash_attention(wish: ModelWish) -> Iterable[Finding]:
    kv_type = wish.settings.kv_type
    if is_quantized(kv_type) and not wish.flash_attention:
        yield Finding(
            "error",
            "kv.flash_attention",
            f"KV type {kv_type} needs flash attention, and it is off",
            hint="--flash-attn auto, or --kv-type f16",
            overridable=False,
        )


def _needs_whole_blocks(wish: ModelWish) -> Iterable[Finding]:
    kv_type = wish.settings.kv_type
    block = KV_BLOCKS[kv_type][0]
    for layer in wish.shape.layers:
        for width in (layer.key_length, layer.value_length):
            if layer.keeps_kv and width % block:
                yield Finding(
                    "error",
                    "kv.block_size",
                    f"KV type {kv_type} stores blocks of {block}, and {wish.shape.name} has heads of {width}",
                    hint="--kv-type f16",
                    overridable=False,
                )
                return
