"""`specdec doctor`: GPUs that are there but cannot be used, and the command that changes it.

What the installed llama-cpp-python can use comes from its own device list; what is there is found without it:
NVIDIA's tool on the path, AMD's kernel driver, an Apple chip, a render node.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from specdec_cli.findings import Finding
from specdec_cli.hardware.values import Machine
from specdec_cli.protocols import BackendDevice

Vendor = Literal["NVIDIA", "AMD", "Apple", "other"]

_BUILD_OPTIONS: dict[Vendor, str] = {
    "NVIDIA": "-DGGML_CUDA=on",
    "AMD": "-DGGML_HIP=on",
    "Apple": "-DGGML_METAL=on",
    "other": "-DGGML_VULKAN=on",
}
_NEEDS: dict[Vendor, tuple[str, str]] = {
    "NVIDIA": ("nvcc", "the CUDA toolkit"),
    "AMD": ("hipcc", "ROCm"),
    "Apple": ("clang", "Apple's command line tools (xcode-select --install)"),
    "other": ("glslc", "the Vulkan SDK"),
}


@dataclass(frozen=True)
class PresentGpu:
    """A GPU found without llama.cpp."""

    vendor: Vendor
    name: str


@dataclass(frozen=True)
class Surroundings:
    """What `detect_gpus` looks at; tests hand in their own."""

    system: str = field(default_factory=platform.system)
    machine: str = field(default_factory=platform.machine)
    which: Callable[[str], str | None] = shutil.which
    exists: Callable[[Path], bool] = Path.exists
    run: Callable[[Sequence[str]], str] = field(default=lambda command: _output(command))


@dataclass(frozen=True)
class Diagnosis:
    """What doctor shows."""

    machine: Machine
    backend: str
    """What the installed llama-cpp-python computes on: CPU, CUDA, Metal, …; empty when it cannot be loaded."""
    backend_version: str
    present_gpus: tuple[PresentGpu, ...]
    findings: tuple[Finding, ...]


def diagnose(
    machine: Machine,
    *,
    backend: str,
    backend_version: str,
    backend_devices: Iterable[BackendDevice],
    surroundings: Surroundings | None = None,
    earlier: Iterable[Finding] = (),
) -> Diagnosis:
    """Compare what is there with what can be used. `earlier` are findings of the probe."""
    surroundings = surroundings or Surroundings()
    present = detect_gpus(surroundings)
    usable = any(device.kind in ("gpu", "igpu") for device in backend_devices)
    advice = () if usable else tuple(_advice(gpu, backend_version, surroundings) for gpu in present)
    return Diagnosis(
        machine=machine,
        backend=backend,
        backend_version=backend_version,
        present_gpus=present,
        findings=(*earlier, *advice, *_rosetta(surroundings)),
    )


def detect_gpus(surroundings: Surroundings) -> tuple[PresentGpu, ...]:
    """GPUs of this machine, as far as can be told without a driver library."""
    if surroundings.system == "Darwin":
        return (PresentGpu("Apple", "Apple GPU"),) if surroundings.machine == "arm64" else ()
    found: list[PresentGpu] = []
    tool = surroundings.which("nvidia-smi")
    if tool:
        names = surroundings.run([tool, "--query-gpu=name", "--format=csv,noheader"])
        found += [PresentGpu("NVIDIA", name.strip()) for name in names.splitlines() if name.strip()]
    if surroundings.exists(Path("/dev/kfd")) or surroundings.which("rocminfo"):
        found.append(PresentGpu("AMD", "AMD GPU"))
    elif not found and surroundings.which("vulkaninfo") and surroundings.exists(Path("/dev/dri/renderD128")):
        found.append(PresentGpu("other", "GPU with Vulkan"))
    return tuple(found)


def reinstall_command(vendor: Vendor, version: str, system: str) -> str:
    """The command that builds llama-cpp-python for this vendor's GPUs, for the system's usual shell."""
    package = f"llama-cpp-python=={version}" if version and version != "unknown" else "llama-cpp-python"
    install = f"pip install --force-reinstall --no-cache-dir --no-binary llama-cpp-python {package}"
    if system == "Windows":
        return f'$env:CMAKE_ARGS="{_BUILD_OPTIONS[vendor]}"; {install}'
    return f'CMAKE_ARGS="{_BUILD_OPTIONS[vendor]}" {install}'


def _advice(gpu: PresentGpu, version: str, surroundings: Surroundings) -> Finding:
    command = reinstall_command(gpu.vendor, version, surroundings.system)
    tool, needed = _NEEDS[gpu.vendor]
    missing = "" if surroundings.which(tool) else f" (install {needed} first: {tool} was not found)"
    return Finding(
        "warning",
        "hardware.gpu_unused",
        f"{gpu.name} is present, and the installed llama-cpp-python cannot use it",
        hint=command + missing,
    )


def _rosetta(surroundings: Surroundings) -> Iterable[Finding]:
    if surroundings.system == "Darwin" and surroundings.machine == "x86_64":
        translated = surroundings.run(["sysctl", "-n", "sysctl.proc_translated"]).strip()
        if translated == "1":
            yield Finding(
                "warning",
                "hardware.translated",
                "this Python is built for Intel and runs translated on an Apple chip: no GPU, and slow",
                hint="install an arm64 Python, then specdec in it",
            )


def _output(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""
