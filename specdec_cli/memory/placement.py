"""Which device holds what: layers, caches and buffers of one model, as llama.cpp distributes them.

    input embedding      always in system memory
    layers               the last `gpu_layers` − 1 on the GPUs, shared out by free memory, in order
    output               counts as one more layer, the last: offloaded first
    KV cache, state      with their layer
    compute buffers      one on every device that computes; inputs and handed-out logits in system memory

Unified memory is one place: everything lies there, once.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from specdec_cli.hardware.values import Machine
from specdec_cli.memory.cache import layer_cache_bytes
from specdec_cli.memory.compute import compute_bytes
from specdec_cli.memory.wish import ModelWish

_HOST = 0


@dataclass(frozen=True)
class Parts:
    """What one model takes on one device, in bytes."""

    weights: int = 0
    kv: int = 0
    compute: int = 0

    @property
    def total(self) -> int:
        """All three."""
        return self.weights + self.kv + self.compute

    def plus(self, *, weights: int = 0, kv: int = 0, compute: int = 0) -> Parts:
        """With so much more."""
        return Parts(self.weights + weights, self.kv + kv, self.compute + compute)


@dataclass(frozen=True)
class Placement:
    """One model on one machine."""

    parts: tuple[Parts, ...]
    """Per device of the machine."""
    layer_devices: tuple[int, ...]
    """Index of each layer's device; the last entry is the output's."""

    @property
    def layers_on_host(self) -> int:
        """How many layers, the output not counted, stay in system memory."""
        return sum(device == _HOST for device in self.layer_devices[:-1])


def place(wish: ModelWish, machine: Machine) -> Placement:
    """Where one model lies. With an unknown shape only weights are placed."""
    shape = wish.shape
    devices = _layer_devices(wish, machine)
    parts = [Parts() for _ in machine.devices]
    parts[_HOST] = parts[_HOST].plus(weights=shape.input_bytes)
    for layer, device in zip(shape.layers, devices, strict=False):
        parts[device] = parts[device].plus(
            weights=layer.weight_bytes,
            kv=0 if shape.unknown else layer_cache_bytes(layer, wish),
        )
    output = devices[-1]
    copied = shape.tied_bytes if output != _HOST else 0
    parts[output] = parts[output].plus(weights=shape.output_bytes + copied)
    if not shape.unknown:
        for device, compute in enumerate(_compute(wish, machine, devices)):
            parts[device] = parts[device].plus(compute=compute)
    return Placement(tuple(parts), devices)


def _layer_devices(wish: ModelWish, machine: Machine) -> tuple[int, ...]:
    """Device index of every layer and of the output. GPUs share by free memory, as llama.cpp does by default."""
    n_layers = len(wish.shape.layers)
    gpus = [index for index, device in enumerate(machine.devices) if index != _HOST and device.kind == "gpu"]
    count = wish.gpu_layers
    if not gpus or count == 0:
        return (_HOST,) * (n_layers + 1)
    free = [max(1, machine.devices[index].free) for index in gpus]
    bounds = [total / sum(free) for total in accumulate(free)]
    first = wish.shape.offloadable_layers - count
    positions = (*range(n_layers), wish.shape.offloadable_layers - 1)
    return tuple(
        _HOST
        if position < first
        else gpus[min(bisect_right(bounds, (position - first) / count), len(gpus) - 1)]
        for position in positions
    )


def _compute(wish: ModelWish, machine: Machine, devices: tuple[int, ...]) -> list[int]:
    """Compute buffers per device."""
    sizes = compute_bytes(wish)
    compute = [sizes.working if index in devices else 0 for index in range(len(machine.devices))]
    if _HOST not in devices:
        compute[_HOST] = sizes.inputs
    compute[_HOST] += sizes.handed_out
    gpus = [index for index, device in enumerate(machine.devices) if index != _HOST and device.kind == "gpu"]
    left_behind = [
        layer for layer, device in zip(wish.shape.layers, devices, strict=False) if device == _HOST
    ]
    if gpus and left_behind:
        # Long prompts multiply the matrices that stayed behind on the first GPU, one at a time.
        compute[gpus[0]] = sizes.working + max(layer.largest_tensor_bytes for layer in left_behind)
    return compute
