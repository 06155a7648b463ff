"""This machine as it was last probed, with what memory is free now: for `list`, which must not wait.

Loading the native library to ask for its devices takes longer than everything else that `list` does, so the
answer is kept for as long as the build, the machine's name and its memory stay the same.
"""

from __future__ import annotations

import contextlib
import importlib.util
import platform
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from specdec_cli.cli.environment import Environment
from specdec_cli.errors import SpecdecError
from specdec_cli.hardware.system import SystemFacts, system_facts
from specdec_cli.hardware.values import Device, Machine
from specdec_cli.registry.atomic import read_json, write_json
from specdec_cli.registry.folders import cache_dir


def quick_machine(environment: Environment) -> Machine:
    """The machine, without its rates. Free memory of GPUs of their own is as it was when probed."""
    facts = system_facts()
    memory, key = cache_dir() / "machine.json", _key(facts)
    machine = _recall(memory, key)
    if machine is None:
        machine = _probe(environment, facts)
        with contextlib.suppress(OSError):
            write_json(memory, {"key": key, "machine": asdict(machine)})
    devices = tuple(_with_free_memory(device, facts) for device in machine.devices)
    return replace(machine, devices=devices, free_memory=facts.free_memory)


def _key(facts: SystemFacts) -> str:
    return f"{_build()} {platform.node()} {facts.total_memory} {facts.usable_cores}"


def _build() -> str:
    """Which native library is installed, without loading it: its folder, and when files were last put there.

    One version can be built for several backends, so its number would not do.
    """
    specification = importlib.util.find_spec("llama_cpp")
    if specification is None or specification.origin is None:
        return ""
    folder = Path(specification.origin).parent / "lib"
    with contextlib.suppress(OSError):
        return f"{folder} {folder.stat().st_mtime_ns}"
    return str(folder)


def _recall(memory: Path, key: str) -> Machine | None:
    known: Any = read_json(memory)
    with contextlib.suppress(TypeError, KeyError):
        if known["key"] == key:
            devices = tuple(Device(**device) for device in known["machine"]["devices"])
            return Machine(**{**known["machine"], "devices": devices})
    return None


def _probe(environment: Environment, facts: SystemFacts) -> Machine:
    from specdec_cli.hardware.probe import machine_of

    try:
        devices = tuple(environment.open_backend().devices())
    except SpecdecError:
        devices = ()  # the native library cannot be loaded: the CPU alone counts
    return machine_of(facts, devices, None)


def _with_free_memory(device: Device, facts: SystemFacts) -> Device:
    if device.kind == "gpu":
        return device
    return replace(device, free=min(device.total, facts.free_memory))
