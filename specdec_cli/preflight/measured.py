"""A memory plan in which llama.cpp's own figures replace the computed ones (`check --exact`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from specdec_cli.hardware.values import Machine
from specdec_cli.memory.placement import Parts
from specdec_cli.memory.plan import DevicePlan, MemoryPlan


@dataclass(frozen=True)
class MeasuredModel:
    """What llama.cpp reports for one model and its context, in bytes; devices by llama.cpp's names."""

    weights: int
    """All loaded tensors, each once."""
    cache_by_device: Mapping[str, int]
    compute_by_device: Mapping[str, int]


def with_measured_sizes(
    plan: MemoryPlan, machine: Machine, target: MeasuredModel | None, draft: MeasuredModel | None
) -> MemoryPlan:
    """The plan with measured sizes where there are any. Nothing is unknown once all models were measured."""
    target_parts = _parts(machine, tuple(device.target for device in plan.devices), target)
    draft_parts: tuple[Parts | None, ...] = tuple(device.draft for device in plan.devices)
    if plan.draft is not None:
        draft_parts = _parts(machine, plan.draft.parts, draft)
    all_measured = target is not None and (plan.draft is None or draft is not None)
    return replace(
        plan,
        devices=tuple(
            DevicePlan(device.device, target_parts[index], draft_parts[index])
            for index, device in enumerate(plan.devices)
        ),
        unknown=None if all_measured else plan.unknown,
    )


def _parts(machine: Machine, planned: tuple[Parts, ...], measured: MeasuredModel | None) -> tuple[Parts, ...]:
    """Weights stay where they were planned, scaled to the measured total; the rest is as measured."""
    if measured is None:
        return planned
    total = sum(part.weights for part in planned)
    cache = _by_device(machine, measured.cache_by_device)
    compute = _by_device(machine, measured.compute_by_device)
    return tuple(
        Parts(
            weights=round(part.weights * measured.weights / total) if total else 0,
            kv=cache[index],
            compute=compute[index],
        )
        for index, part in enumerate(planned)
    )


def _by_device(machine: Machine, sizes: Mapping[str, int]) -> list[int]:
    """Sizes per device of the machine. What is on no device of that name (pinned host memory) is on the host."""
    found = [0] * len(machine.devices)
    names = {device.name: index for index, device in enumerate(machine.devices)}
    for name, size in sizes.items():
        found[names.get(name, 0)] += size
    return found
