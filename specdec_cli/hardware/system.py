"""Cores and memory of this machine that this process may use. The only module that imports psutil."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from specdec_cli.hardware.cgroups import container_limits


@dataclass(frozen=True)
class SystemFacts:
    """Container limits applied. Sizes in bytes."""

    physical_cores: int
    performance_cores: int
    usable_cores: float
    total_memory: int
    free_memory: int
    in_container: bool
    """Whether a limit lower than the machine's own applies."""


def system_facts() -> SystemFacts:
    """Asked anew each time: free memory changes."""
    import psutil

    limits = container_limits()
    allowed = _allowed_cores()
    physical = min(psutil.cpu_count(logical=False) or allowed, allowed)
    memory = psutil.virtual_memory()
    total = min(memory.total, limits.memory_total or memory.total)
    free = memory.available if limits.memory_free is None else min(memory.available, limits.memory_free)
    usable = float(allowed) if limits.cores is None else min(float(allowed), limits.cores)
    return SystemFacts(
        physical_cores=physical,
        performance_cores=min(physical, _performance_cores() or physical),
        usable_cores=usable,
        total_memory=total,
        free_memory=free,
        in_container=total < memory.total or usable < allowed,
    )


def _allowed_cores() -> int:
    """Logical cores the scheduler lets this process run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def _performance_cores() -> int | None:
    """Cores of the faster kind, where there are two kinds and the system tells."""
    if sys.platform == "darwin":
        return _sysctl("hw.perflevel0.physicalcpu")
    try:
        listed = Path("/sys/devices/cpu_core/cpus").read_text(encoding="ascii")
        return _count_cores_of(listed) or None
    except (OSError, ValueError):
        return None


def _count_cores_of(listed: str) -> int:
    """Physical cores in a list of logical ones like `0-11` on a hybrid Intel chip: siblings count once."""
    siblings = set()
    for span in listed.strip().split(","):
        first, _, last = span.partition("-")
        for core in range(int(first), int(last or first) + 1):
            topology = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
            siblings.add(topology.read_text(encoding="ascii"))
    return len(siblings)


def _sysctl(name: str) -> int | None:
    try:
        answer = subprocess.run(
            ["sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=False
        )
        return int(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
