"""What the memory plan has to say, as findings.

Codes: `memory.does_not_fit`, `memory.tight`, `memory.unknown`, `memory.partly_offloaded`,
`memory.draft_on_cpu`, `kv.flash_attention`, `kv.block_size`, `kv.quantized_with_draft`.
"""

from __future__ import annotations

from collections.abc import Iterator

from specdec_cli.findings import Finding
from specdec_cli.hardware.values import GIB, Machine
from specdec_cli.memory.cache import is_quantized
from specdec_cli.memory.check_kv import kv_findings
from specdec_cli.memory.plan import MemoryPlan
from specdec_cli.memory.suggest import suggest
from specdec_cli.memory.wish import ModelWish

_TIGHT = 0.05
"""Less of the usable memory left than this is worth a word: it may not be free at the moment of loading."""


def memory_findings(
    plan: MemoryPlan, target: ModelWish, draft: ModelWish | None, machine: Machine
) -> tuple[Finding, ...]:
    """Everything worth saying about a plan made by `plan_memory` from the same wishes. Errors first."""
    wishes = [target] if draft is None else [target, draft]
    return (
        *kv_findings(wishes),
        *_does_not_fit(plan, target, draft, machine),
        *_unknown(plan),
        *_tight(plan),
        *_offloading(plan, target, machine),
        *_quantized_cache(target, draft),
    )


def human_size(n_bytes: int) -> str:
    """`1.4 GiB`, `96 MiB`."""
    return f"{n_bytes / GIB:.1f} GiB" if abs(n_bytes) >= GIB else f"{n_bytes / (1 << 20):.0f} MiB"


def _does_not_fit(
    plan: MemoryPlan, target: ModelWish, draft: ModelWish | None, machine: Machine
) -> Iterator[Finding]:
    short = [device for device in plan.devices if not device.fits]
    if not short:
        return
    nearest = suggest(target, draft, machine)
    hint = f"this fits: {nearest}" if nearest else "a smaller model or a stronger quantization is needed"
    for device in short:
        what = "weights alone need" if plan.unknown else f"a context of {target.settings.n_ctx} needs"
        yield Finding(
            "error",
            "memory.does_not_fit",
            f"{what} {human_size(device.required)} on {device.device.name}, where "
            f"{human_size(device.device.usable)} may be used ({human_size(device.device.free)} free, "
            f"{human_size(device.device.reserve)} kept in reserve)",
            hint=None if plan.unknown else hint,
        )


def _unknown(plan: MemoryPlan) -> Iterator[Finding]:
    if plan.unknown:
        yield Finding(
            "warning",
            "memory.unknown",
            f"how much memory it takes beside its weights is unknown: {plan.unknown}",
            hint="specdec check --exact asks llama.cpp itself",
        )


def _tight(plan: MemoryPlan) -> Iterator[Finding]:
    for device in plan.devices:
        if device.fits and device.required and device.headroom < _TIGHT * device.device.usable:
            yield Finding(
                "warning",
                "memory.tight",
                f"only {human_size(device.headroom)} are left on {device.device.name}",
                hint="close other programs, or take a smaller context",
            )


def _offloading(plan: MemoryPlan, target: ModelWish, machine: Machine) -> Iterator[Finding]:
    if all(device.kind != "gpu" for device in machine.devices):
        return
    left = plan.target.layers_on_host
    if left:
        yield Finding(
            "warning",
            "memory.partly_offloaded",
            f"{left} of {len(target.shape.layers)} layers of the target stay in system memory and set the pace",
        )
    if plan.draft is not None and plan.draft.layers_on_host:
        yield Finding(
            "warning",
            "memory.draft_on_cpu",
            f"{plan.draft.layers_on_host} layers of the draft stay in system memory: a draft must be fast",
            hint="place the draft on the GPU first, and fewer layers of the target",
        )


def _quantized_cache(target: ModelWish, draft: ModelWish | None) -> Iterator[Finding]:
    kv_type = target.settings.kv_type
    if draft is not None and is_quantized(kv_type):
        yield Finding(
            "warning",
            "kv.quantized_with_draft",
            f"a {kv_type} cache is unpacked for every drafted and verified token, which can eat the gain",
            hint="--kv-type f16 where memory allows",
        )
