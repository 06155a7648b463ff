"""This machine, as a `Machine` value."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from specdec_cli.errors import SpecdecError
from specdec_cli.findings import Finding
from specdec_cli.hardware.bandwidth import memory_bandwidth
from specdec_cli.hardware.chips import chip_rates
from specdec_cli.hardware.system import SystemFacts, system_facts
from specdec_cli.hardware.values import Device, Machine, default_reserve
from specdec_cli.protocols import BackendDevice

_OPERATIONS_PER_CORE = 110e9
"""Peak of one everyday core: two 8-wide multiply-adds per cycle at 3.4 GHz."""


@dataclass(frozen=True)
class Probe:
    """The machine, and what went wrong while looking at it."""

    machine: Machine
    findings: tuple[Finding, ...] = ()


def probe_machine(
    list_devices: Callable[[], Iterable[BackendDevice]] | None,
    *,
    bandwidth_cache: Path | None,
    measure_again: bool = False,
    facts: SystemFacts | None = None,
) -> Probe:
    """Look at this machine. `list_devices` is llama.cpp's own list (`llama.devices`), None to go without.

    Where the native library cannot be loaded, the probe goes on with the CPU alone and says so.
    `bandwidth_cache` is the file that remembers the measured bandwidth; None remembers nothing.
    """
    facts = facts or system_facts()
    findings: tuple[Finding, ...] = ()
    backend_devices: tuple[BackendDevice, ...] = ()
    if list_devices is not None:
        try:
            backend_devices = tuple(list_devices())
        except SpecdecError as error:
            findings = (
                Finding(
                    "warning",
                    "hardware.native_library",
                    f"GPUs are not counted: {error.message}",
                    hint=error.hint,
                ),
            )
    cores = max(1, int(facts.usable_cores))
    bandwidth = memory_bandwidth(cores, facts.total_memory, bandwidth_cache, again=measure_again)
    return Probe(machine_of(facts, backend_devices, bandwidth), findings)


def machine_of(
    facts: SystemFacts, backend_devices: Sequence[BackendDevice], bandwidth: float | None
) -> Machine:
    """A `Machine` from what was found. `bandwidth` is that of system memory, bytes per second."""
    host = Device(
        name="CPU",
        kind="cpu",
        total=facts.total_memory,
        free=facts.free_memory,
        reserve=default_reserve("cpu", facts.total_memory),
        bandwidth=bandwidth,
        compute=_OPERATIONS_PER_CORE * max(1, min(facts.performance_cores, int(facts.usable_cores))),
        description=platform.processor() or platform.machine(),
    )
    gpus = [device for device in backend_devices if device.kind == "gpu"]
    shared = [device for device in backend_devices if device.kind == "igpu"]
    devices: tuple[Device, ...]
    if gpus and _shares_memory(gpus[0]):
        devices = (_unified(gpus[0], facts, bandwidth),)
    elif gpus:
        devices = (host, *(_discrete(device) for device in gpus))
    elif shared:
        devices = (_unified(shared[0], facts, bandwidth),)
    else:
        devices = (host,)
    return Machine(
        name=platform.node() or "this machine",
        devices=devices,
        physical_cores=facts.physical_cores,
        performance_cores=facts.performance_cores,
        usable_cores=facts.usable_cores,
        total_memory=facts.total_memory,
        free_memory=facts.free_memory,
        bandwidth_measured=devices == (host,),
    )


def _shares_memory(device: BackendDevice) -> bool:
    """Apple's own GPUs: Metal calls them GPUs like any other."""
    return device.description.startswith("Apple M") or device.name.startswith(("MTL", "Metal"))


def _unified(device: BackendDevice, facts: SystemFacts, measured: float | None) -> Device:
    """What the system grants the GPU, and no more than is free. 0 means that the backend does not know."""
    total = min(device.total_bytes or facts.total_memory, facts.total_memory)
    rates = chip_rates(device.description)
    return Device(
        name=device.name,
        kind="unified",
        total=total,
        free=min(device.free_bytes or total, total, facts.free_memory),
        reserve=default_reserve("unified", total),
        bandwidth=rates.bandwidth if rates else measured,
        compute=rates.compute if rates else None,
        description=device.description,
    )


def _discrete(device: BackendDevice) -> Device:
    rates = chip_rates(device.description)
    return Device(
        name=device.name,
        kind="gpu",
        total=device.total_bytes,
        free=device.free_bytes,
        reserve=default_reserve("gpu", device.total_bytes),
        bandwidth=rates.bandwidth if rates else None,
        compute=rates.compute if rates else None,
        description=device.description,
    )
