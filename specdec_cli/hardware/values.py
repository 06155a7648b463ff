"""A machine and its devices, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DeviceKind = Literal["cpu", "gpu", "unified"]

GIB = 1 << 30


@dataclass(frozen=True)
class Device:
    """A place where weights and caches can lie. Sizes in bytes."""

    name: str
    kind: DeviceKind
    """`unified` shares its memory with the system: everything lies there, nothing twice."""
    total: int
    """All it has; for a unified device, the working set that the system grants it."""
    free: int
    reserve: int
    """What is left alone: for the driver, the desktop, this program."""
    bandwidth: float | None = None
    """Bytes per second it can read its memory at; None is unknown."""
    compute: float | None = None
    """Operations per second, peak, in the arithmetic llama.cpp multiplies with there; None is unknown."""
    description: str = ""

    @property
    def usable(self) -> int:
        """Bytes that may be planned for."""
        return max(0, self.free - self.reserve)


@dataclass(frozen=True)
class Machine:
    """What a run can use. Container limits are already applied."""

    name: str
    devices: tuple[Device, ...]
    """System memory first, as a `cpu` device, unless it is unified; then GPUs in llama.cpp's order."""
    physical_cores: int
    performance_cores: int
    """As many as physical ones where all are alike."""
    usable_cores: float
    """Logical cores' worth of time this process may use: affinity and container quota applied."""
    total_memory: int
    free_memory: int
    bandwidth_measured: bool = False
    """Whether bandwidths were measured here rather than read from a data sheet."""
    from_file: bool = False

    @property
    def gpus(self) -> tuple[Device, ...]:
        """Devices that layers can be offloaded to."""
        return tuple(device for device in self.devices if device.kind != "cpu")

    @property
    def host(self) -> Device:
        """Where everything that is not offloaded lies: system memory, or the unified device."""
        return self.devices[0]


def default_reserve(kind: DeviceKind, total: int) -> int:
    """What to leave alone on a device: 1 GiB on a GPU, 2 GiB of system memory; less where there is little."""
    return min(GIB if kind != "cpu" else 2 * GIB, total // 8)
