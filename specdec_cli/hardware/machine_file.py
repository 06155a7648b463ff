"""A described machine: TOML → `Machine`.

    name = "24 GB Apple laptop"
    memory_gib = 24
    physical_cores = 10
    performance_cores = 6           # optional: all of them

    [[devices]]
    name = "Metal"
    kind = "unified"                # cpu, gpu or unified
    total_gib = 16                  # for unified memory: what the system grants the GPU
    bandwidth_gb_s = 200
    compute_tflops = 4.3            # optional, peak: 8-bit operations on NVIDIA and AMD, else half precision
    free_gib = 16                   # optional: all of it
    reserve_gib = 1                 # optional

A machine without a unified device needs a `cpu` device, or gets one of `memory_gib`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, cast

from specdec_cli.errors import SpecdecError
from specdec_cli.hardware.values import GIB, Device, DeviceKind, Machine, default_reserve

_KINDS = ("cpu", "gpu", "unified")
_MACHINE_KEYS = {"name", "memory_gib", "free_gib", "physical_cores", "performance_cores", "devices"}
_DEVICE_KEYS = {
    "name", "kind", "description", "total_gib", "free_gib", "reserve_gib", "bandwidth_gb_s", "compute_tflops",
}  # fmt: skip
_LARGEST = 1e6
"""No machine has a million GiB, GB/s, TFLOPS or cores."""


def example_machines() -> tuple[str, ...]:
    """Names of the machine files that come with specdec: `--machine NAME` takes them too."""
    folder = resources.files("specdec_cli.hardware") / "machines"
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir()))


def load_machine(reference: str) -> Machine:
    """The machine described by the TOML file at `reference`, or by the example of that name.

    Raises `SpecdecError` with one line that names the key.
    """
    path = Path(reference)
    try:
        if reference in example_machines():
            text = (resources.files("specdec_cli.hardware") / "machines" / f"{reference}.toml").read_text(
                "utf-8"
            )
        else:
            text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "it is not text"
        raise SpecdecError(
            f"machine file {reference} cannot be read: {reason}",
            hint="a TOML file, or one of " + ", ".join(example_machines()),
            code="hardware.machine_file",
        ) from error
    return parse_machine(text, source=path.name)


def parse_machine(text: str, *, source: str) -> Machine:
    """The machine that TOML text describes. `source` names it in errors."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SpecdecError(f"{source} is not valid TOML: {error}", code="hardware.machine_file") from error
    reader = _Reader(source)
    reader.only(table, _MACHINE_KEYS, "")
    total = reader.gib(table, "memory_gib", "")
    free = min(total, reader.gib(table, "free_gib", "", default=total))
    cores = reader.whole(table, "physical_cores")
    entries = table.get("devices", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise reader.problem("devices must be a list of tables: [[devices]]")
    devices = [reader.device(entry, f"devices[{index}].") for index, entry in enumerate(entries)]
    return Machine(
        name=reader.text(table, "name", ""),
        devices=_in_order(reader, devices, total, free),
        physical_cores=cores,
        performance_cores=min(cores, reader.whole(table, "performance_cores", default=cores)),
        usable_cores=float(cores),
        total_memory=total,
        free_memory=free,
        from_file=True,
    )


def _in_order(reader: _Reader, devices: list[Device], total: int, free: int) -> tuple[Device, ...]:
    """System memory first; one place for everything where memory is unified."""
    unified = [device for device in devices if device.kind == "unified"]
    if unified:
        if len(devices) > 1:
            raise reader.problem("a unified device holds everything: it must be the only one")
        if unified[0].total > total:
            raise reader.problem("devices[0].total_gib is more than memory_gib")
        return tuple(unified)
    hosts = [device for device in devices if device.kind == "cpu"]
    if len(hosts) > 1:
        raise reader.problem("more than one cpu device")
    host = hosts or [Device("CPU", "cpu", total, free, default_reserve("cpu", total))]
    return (*host, *(device for device in devices if device.kind == "gpu"))


class _Reader:
    """Values of one machine file, checked; errors name the file and the key."""

    def __init__(self, source: str) -> None:
        self._source = source

    def problem(self, what: str) -> SpecdecError:
        return SpecdecError(f"{self._source}: {what}", code="hardware.machine_file")

    def only(self, table: Mapping[str, Any], allowed: set[str], where: str) -> None:
        for key in table:
            if key not in allowed:
                raise SpecdecError(
                    f"{self._source}: unknown key {where}{key}",
                    hint="known keys: " + ", ".join(sorted(allowed)),
                    code="hardware.machine_file",
                )

    def text(self, table: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
        value = table.get(key, default)
        if not isinstance(value, str) or not (value.strip() or default == ""):
            raise self.problem(f"{where}{key} must be text")
        return value

    def number(self, table: Mapping[str, Any], key: str, where: str) -> float:
        value = table.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LARGEST:
            raise self.problem(f"{where}{key} must be a number above 0 (it is {value!r})")
        return float(value)

    def gib(self, table: Mapping[str, Any], key: str, where: str, default: int | None = None) -> int:
        if key not in table and default is not None:
            return default
        if table.get(key) == 0 and default is not None and not isinstance(table[key], bool):
            return 0
        return round(self.number(table, key, where) * GIB)

    def whole(self, table: Mapping[str, Any], key: str, default: int | None = None) -> int:
        if key not in table and default is not None:
            return default
        value = self.number(table, key, "")
        if value != int(value):
            raise self.problem(f"{key} must be a whole number (it is {value!r})")
        return int(value)

    def device(self, table: Mapping[str, Any], where: str) -> Device:
        self.only(table, _DEVICE_KEYS, where)
        kind = table.get("kind")
        if kind not in _KINDS:
            raise self.problem(f"{where}kind must be one of {', '.join(_KINDS)} (it is {kind!r})")
        total = self.gib(table, "total_gib", where)
        return Device(
            name=self.text(table, "name", where),
            kind=cast(DeviceKind, kind),
            total=total,
            free=min(total, self.gib(table, "free_gib", where, default=total)),
            reserve=self.gib(
                table, "reserve_gib", where, default=default_reserve(cast(DeviceKind, kind), total)
            ),
            bandwidth=self.number(table, "bandwidth_gb_s", where) * 1e9
            if "bandwidth_gb_s" in table
            else None,
            compute=self.number(table, "compute_tflops", where) * 1e12 if "compute_tflops" in table else None,
            description=self.text(table, "description", where, default=""),
        )
