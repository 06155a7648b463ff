"""The memory plan: both models on one machine, what fits, and the largest context that would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from specdec_cli.hardware.values import Device, Machine
from specdec_cli.memory.placement import Parts, Placement, place
from specdec_cli.memory.wish import ModelWish

_STEP = 256
_LARGEST_CONTEXT = 1 << 20
"""Where to stop looking when a model does not say what context it was trained on."""


@dataclass(frozen=True)
class DevicePlan:
    """What one device would have to hold."""

    device: Device
    target: Parts
    draft: Parts | None

    @property
    def required(self) -> int:
        """Bytes both models take here."""
        return self.target.total + (self.draft.total if self.draft else 0)

    @property
    def headroom(self) -> int:
        """Bytes left of what may be used; negative when it does not fit."""
        return self.device.usable - self.required

    @property
    def fits(self) -> bool:
        """Whether it fits beside the reserve."""
        return self.headroom >= 0


@dataclass(frozen=True)
class MemoryPlan:
    """Both models, every device."""

    devices: tuple[DevicePlan, ...]
    target: Placement
    draft: Placement | None
    unknown: str | None
    """Why only weights could be counted; None when everything was."""
    max_context_with_draft: int | None
    """Largest context that fits, at most what the target was trained on; None when unknown, 0 when none does."""
    max_context_without_draft: int | None

    @property
    def fits(self) -> bool | None:
        """None when what is known fits and the rest is unknown."""
        if not all(device.fits for device in self.devices):
            return False
        return None if self.unknown else True


def plan_memory(target: ModelWish, draft: ModelWish | None, machine: Machine) -> MemoryPlan:
    """Plan for a target and, if there is one, its draft."""
    placements = place(target, machine), None if draft is None else place(draft, machine)
    unknown = target.shape.unknown or (draft.shape.unknown if draft is not None else None)
    return MemoryPlan(
        devices=_devices(*placements, machine),
        target=placements[0],
        draft=placements[1],
        unknown=unknown,
        max_context_with_draft=None if unknown or draft is None else largest_context(target, draft, machine),
        max_context_without_draft=None if target.shape.unknown else largest_context(target, None, machine),
    )


def fits(target: ModelWish, draft: ModelWish | None, machine: Machine) -> bool:
    """Whether both fit beside the reserve on every device."""
    placed_draft = None if draft is None else place(draft, machine)
    return all(device.fits for device in _devices(place(target, machine), placed_draft, machine))


def largest_context(target: ModelWish, draft: ModelWish | None, machine: Machine) -> int:
    """The largest context, in steps of 256, at which both fit; 0 when none does."""
    most = target.shape.context_length or _LARGEST_CONTEXT

    def fits_at(steps: int) -> bool:
        n_ctx = min(most, steps * _STEP)
        return fits(with_context(target, n_ctx), None if draft is None else _followed(draft, n_ctx), machine)

    return min(most, _STEP * largest_that(fits_at, -(-most // _STEP)))


def largest_that(holds: Callable[[int], bool], most: int) -> int:
    """The largest number in 1 … most for which `holds`, which is true up to a point; 0 when for none."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def with_context(wish: ModelWish, n_ctx: int) -> ModelWish:
    """The same wish with another context size."""
    return replace(wish, settings=replace(wish.settings, n_ctx=n_ctx))


def _followed(draft: ModelWish, n_ctx: int) -> ModelWish:
    """A draft with the target's context, or its own largest if that is less."""
    return with_context(draft, min(n_ctx, draft.shape.context_length or n_ctx))


def _devices(target: Placement, draft: Placement | None, machine: Machine) -> tuple[DevicePlan, ...]:
    return tuple(
        DevicePlan(device, target.parts[index], draft.parts[index] if draft else None)
        for index, device in enumerate(machine.devices)
    )


def plan_as_json(plan: MemoryPlan) -> dict[str, Any]:
    """The `memory` object of `check --json`. Where the plan does not know, it says null."""
    return {
        "fits": plan.fits,
        "unknown": plan.unknown,
        "devices": [_device_as_json(device) for device in plan.devices],
        "max_context": {
            "with_draft": plan.max_context_with_draft,
            "without_draft": plan.max_context_without_draft,
        },
    }


def _device_as_json(plan: DevicePlan) -> dict[str, Any]:
    def parts(part: Parts | None) -> dict[str, int] | None:
        return None if part is None else {"weights": part.weights, "kv": part.kv, "compute": part.compute}

    return {
        "name": plan.device.name,
        "kind": plan.device.kind,
        "total": plan.device.total,
        "free": plan.device.free,
        "reserve": plan.device.reserve,
        "required": plan.required,
        "headroom": plan.headroom,
        "parts": {"target": parts(plan.target), "draft": parts(plan.draft)},
    }
