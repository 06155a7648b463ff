"""The report of `specdec doctor`."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from specdec_cli.hardware.doctor import Diagnosis
from specdec_cli.hardware.values import Device


def print_doctor(diagnosis: Diagnosis, facts: dict[str, str], stream: TextIO) -> None:
    """What is missing first, then the machine, the devices and the build."""
    console = Console(file=stream, highlight=False, emoji=False)
    if not diagnosis.findings:
        console.print(Text("OK    nothing is missing", style="bold green"))
    for finding in diagnosis.findings:
        console.print(Text(f"{finding.level}: {finding.message}", style="yellow"), soft_wrap=True)
        if finding.hint:
            # Not wrapped: it is a command to copy.
            console.print(Text(f"hint: {finding.hint}"), soft_wrap=True)
    machine = diagnosis.machine
    cores = f"{machine.physical_cores} physical, {machine.performance_cores} fast, {machine.usable_cores:g} usable"
    memory = f"{_gib(machine.total_memory)}, {_gib(machine.free_memory)} free"
    engine = diagnosis.backend or "cannot be loaded"
    rows = {
        "machine": machine.name,
        "cores": cores,
        "memory": memory,
        "llama.cpp": f"llama-cpp-python {diagnosis.backend_version or 'unknown'}, built for {engine}",
        **facts,
    }
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, value)
    console.print()
    console.print(table)
    console.print()
    console.print(_devices(machine.devices))


def _devices(devices: tuple[Device, ...]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("device", "kind", "total", "free", "bandwidth"):
        table.add_column(heading)
    table.add_column("description", overflow="fold")
    for device in devices:
        bandwidth = f"{device.bandwidth / 1e9:.0f} GB/s" if device.bandwidth else "unknown"
        table.add_row(
            device.name, device.kind, _gib(device.total), _gib(device.free), bandwidth, device.description
        )
    return table


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
