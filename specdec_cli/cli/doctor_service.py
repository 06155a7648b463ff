"""What `specdec doctor` does: probe, ask the native library, compare, show."""

from __future__ import annotations

import json
import platform

from specdec_cli import __version__
from specdec_cli.cli.environment import Environment
from specdec_cli.documents import SCHEMA, finding_document
from specdec_cli.errors import SpecdecError
from specdec_cli.hardware.doctor import Diagnosis, diagnose
from specdec_cli.hardware.probe import probe_machine
from specdec_cli.hardware.threads import default_threads
from specdec_cli.protocols import BackendDevice
from specdec_cli.registry.folders import cache_dir, config_dir, hub_cache_dir
from specdec_cli.ui.doctor_view import print_doctor


def run_doctor(environment: Environment, *, as_json: bool) -> int:
    """Print the diagnosis; exit code 1 when the native library cannot be loaded, for nothing runs then."""
    backend_name, version = "", ""
    devices: tuple[BackendDevice, ...] = ()
    broken: SpecdecError | None = None
    try:
        backend = environment.open_backend()
        version = backend.version
        devices = backend.devices()
        backend_name = backend.name
    except SpecdecError as error:
        broken = error

    def list_devices() -> tuple[BackendDevice, ...]:
        if broken is not None:
            raise broken
        return devices

    probe = probe_machine(list_devices, bandwidth_cache=cache_dir() / "bandwidth.json", measure_again=True)
    diagnosis = diagnose(
        probe.machine,
        backend=backend_name,
        backend_version=version,
        backend_devices=devices,
        earlier=probe.findings,
    )
    facts = {
        "specdec": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "threads": str(default_threads()),
        "cache": str(cache_dir()),
        "config": str(config_dir()),
        "Hub cache": str(hub_cache_dir()),
    }
    if as_json:
        environment.stdout.write(json.dumps(doctor_document(diagnosis, facts), ensure_ascii=False) + "\n")
    else:
        print_doctor(diagnosis, facts, environment.stdout)
    environment.stdout.flush()
    return 0 if broken is None else SpecdecError.exit_code


def doctor_document(diagnosis: Diagnosis, facts: dict[str, str]) -> dict[str, object]:
    """What `doctor --json` prints. Sizes in bytes, bandwidth in bytes per second, null where unknown."""
    machine = diagnosis.machine
    return {
        "schema": SCHEMA,
        "machine": {
            "name": machine.name,
            "physical_cores": machine.physical_cores,
            "performance_cores": machine.performance_cores,
            "usable_cores": machine.usable_cores,
            "total_memory": machine.total_memory,
            "free_memory": machine.free_memory,
        },
        "devices": [
            {
                "name": device.name,
                "kind": device.kind,
                "description": device.description,
                "total": device.total,
                "free": device.free,
                "reserve": device.reserve,
                "bandwidth": device.bandwidth,
            }
            for device in machine.devices
        ],
        "engine": {"llama_cpp_python": diagnosis.backend_version, "backend": diagnosis.backend},
        "present_gpus": [{"vendor": gpu.vendor, "name": gpu.name} for gpu in diagnosis.present_gpus],
        "facts": facts,
        "findings": [finding_document(finding) for finding in diagnosis.findings],
    }
