"""GPUs that are there and cannot be used, on systems we do not have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from specdec_cli.hardware.doctor import Surroundings, detect_gpus, diagnose, reinstall_command
from specdec_cli.hardware.values import GIB, Device, Machine
from specdec_cli.protocols import BackendDevice

MACHINE = Machine("x", (Device("CPU", "cpu", GIB, GIB, 0),), 4, 4, 4.0, GIB, GIB)
CPU = BackendDevice("CPU", "", "cpu", 0, 0)


def around(
    system: str = "Linux",
    machine: str = "x86_64",
    tools: Sequence[str] = (),
    paths: Sequence[str] = (),
    said: str = "",
) -> Surroundings:
    return Surroundings(
        system=system,
        machine=machine,
        which=lambda name: f"/usr/bin/{name}" if name in tools else None,
        exists=lambda path: path.as_posix() in paths,
        run=lambda command: said,
    )


NVIDIA = around(tools=["nvidia-smi", "nvcc"], said="NVIDIA GeForce RTX 3090\n")
APPLE = around("Darwin", "arm64", tools=["clang"])
AMD = around(paths=["/dev/kfd"], tools=["hipcc"])
INTEL = around(tools=["vulkaninfo", "glslc"], paths=["/dev/dri/renderD128"])


@pytest.mark.parametrize(
    ("surroundings", "vendors"),
    [
        (NVIDIA, ["NVIDIA"]),
        (around(tools=["nvidia-smi"], said="NVIDIA A\nNVIDIA B\n"), ["NVIDIA", "NVIDIA"]),
        (around(tools=["nvidia-smi"], said=""), []),
        (APPLE, ["Apple"]),
        (around("Darwin", "x86_64"), []),
        (AMD, ["AMD"]),
        (INTEL, ["other"]),
        (around(), []),
    ],
)
def test_gpus_are_found_without_llama_cpp(surroundings: Surroundings, vendors: list[str]) -> None:
    assert [gpu.vendor for gpu in detect_gpus(surroundings)] == vendors


@pytest.mark.parametrize(
    ("surroundings", "option"),
    [(NVIDIA, "GGML_CUDA"), (APPLE, "GGML_METAL"), (AMD, "GGML_HIP"), (INTEL, "GGML_VULKAN")],
)
def test_an_unused_gpu_comes_with_the_command_that_changes_it(
    surroundings: Surroundings, option: str
) -> None:
    found = diagnose(
        MACHINE, backend="CPU", backend_version="0.3.36", backend_devices=[CPU], surroundings=surroundings
    )
    (finding,) = found.findings
    assert finding.code == "hardware.gpu_unused"
    assert finding.hint is not None
    assert finding.hint.startswith(f'CMAKE_ARGS="-D{option}=on" pip install')
    assert finding.hint.endswith("llama-cpp-python==0.3.36")


def test_a_missing_compiler_is_named() -> None:
    surroundings = around(tools=["nvidia-smi"], said="NVIDIA X\n")
    found = diagnose(
        MACHINE, backend="CPU", backend_version="", backend_devices=[CPU], surroundings=surroundings
    )
    assert "nvcc" in (found.findings[0].hint or "")


def test_a_gpu_in_use_needs_no_advice() -> None:
    cuda = BackendDevice("CUDA0", "NVIDIA X", "gpu", GIB, GIB)
    found = diagnose(
        MACHINE, backend="CUDA", backend_version="1", backend_devices=[cuda, CPU], surroundings=NVIDIA
    )
    assert found.findings == ()
    assert found.present_gpus[0].name == "NVIDIA GeForce RTX 3090"


def test_a_translated_python_is_named() -> None:
    surroundings = around("Darwin", "x86_64", said="1\n")
    found = diagnose(
        MACHINE, backend="CPU", backend_version="1", backend_devices=[CPU], surroundings=surroundings
    )
    assert [finding.code for finding in found.findings] == ["hardware.translated"]


def test_windows_has_another_shell() -> None:
    command = reinstall_command("NVIDIA", "0.3.36", "Windows")
    assert command.startswith('$env:CMAKE_ARGS="-DGGML_CUDA=on"; pip install')


def test_the_real_surroundings_do_not_raise() -> None:
    detect_gpus(Surroundings())


def test_a_tool_that_cannot_be_run_says_nothing(tmp_path: Path) -> None:
    assert Surroundings().run([str(tmp_path / "missing")]) == ""
