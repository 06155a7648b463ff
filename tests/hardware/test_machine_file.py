"""Described machines: the examples, and every kind of nonsense."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdec_cli.errors import SpecdecError
from specdec_cli.hardware.machine_file import example_machines, load_machine, parse_machine
from specdec_cli.hardware.values import GIB

WHOLE = """
name = "box"
memory_gib = 32
physical_cores = 8

[[devices]]
name = "CUDA0"
kind = "gpu"
total_gib = 12
bandwidth_gb_s = 360
"""


def test_the_examples_are_the_four_promised() -> None:
    assert example_machines() == ("apple-24gb", "cpu-32gb", "nvidia-12gb", "nvidia-24gb")


@pytest.mark.parametrize("name", example_machines())
def test_every_example_can_be_planned_and_predicted_for(name: str) -> None:
    machine = load_machine(name)
    assert machine.from_file
    assert all(device.bandwidth and device.compute and device.usable for device in machine.devices)
    assert machine.host.kind in ("cpu", "unified")


def test_the_apple_laptop_is_as_described() -> None:
    (metal,) = load_machine("apple-24gb").devices
    assert (metal.kind, metal.bandwidth, metal.total) == ("unified", 200e9, 16 * GIB)


def test_a_file_with_defaults(tmp_path: Path) -> None:
    path = tmp_path / "box.toml"
    path.write_text(WHOLE, encoding="utf-8")
    machine = load_machine(str(path))
    host, gpu = machine.devices
    assert (host.kind, host.total, host.free, host.reserve) == ("cpu", 32 * GIB, 32 * GIB, 2 * GIB)
    assert (gpu.total, gpu.free, gpu.reserve, gpu.bandwidth, gpu.compute) == (
        12 * GIB,
        12 * GIB,
        GIB,
        360e9,
        None,
    )
    assert machine.performance_cores == machine.physical_cores == 8


def test_no_device_is_a_cpu() -> None:
    machine = parse_machine('name = "x"\nmemory_gib = 8\nphysical_cores = 4\n', source="x.toml")
    assert [device.kind for device in machine.devices] == ["cpu"]


def test_free_is_never_more_than_total() -> None:
    machine = parse_machine(WHOLE + "free_gib = 99\n", source="x.toml")
    assert machine.gpus[0].free == machine.gpus[0].total


def test_a_reserve_of_nothing_is_possible() -> None:
    assert parse_machine(WHOLE + "reserve_gib = 0\n", source="x.toml").gpus[0].reserve == 0


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("name = ", "TOML"),
        ("\x00", "TOML"),
        ("a = " + "[" * 3000, "TOML"),
        ("", "memory_gib"),
        ("memory_gib = true", "memory_gib"),
        ("memory_gib = -1", "memory_gib"),
        ("memory_gib = nan", "memory_gib"),
        ("memory_gib = inf", "memory_gib"),
        ("memory_gib = 1e12", "memory_gib"),
        ('memory_gib = "24"', "memory_gib"),
        ("memory_gib = 8", "physical_cores"),
        ("memory_gib = 8\nphysical_cores = 2.5", "physical_cores"),
        ("memory_gib = 8\nphysical_cores = 0", "physical_cores"),
        ("memory_gib = 8\nphysical_cores = 4", "name"),
        ('memory_gib = 8\nphysical_cores = 4\nname = " "', "name"),
        ("bandwidth = 3", "bandwidth"),
        ("memory_gib = 8\nphysical_cores = 4\ndevices = 3", "devices"),
        ("memory_gib = 8\nphysical_cores = 4\ndevices = [3]", "devices"),
        (WHOLE.replace('"gpu"', '"tpu"'), "devices[0].kind"),
        (WHOLE.replace('kind = "gpu"', ""), "devices[0].kind"),
        (WHOLE.replace("total_gib = 12", ""), "devices[0].total_gib"),
        (WHOLE.replace("bandwidth_gb_s = 360", "bandwidth_gb_s = 0"), "devices[0].bandwidth_gb_s"),
        (WHOLE + "vram = 3", "devices[0].vram"),
        (WHOLE.replace('"gpu"', '"unified"').replace("12", "64"), "total_gib"),
        (WHOLE.replace('"gpu"', '"unified"') + WHOLE.partition("8\n")[2], "unified"),
        (WHOLE.replace('"gpu"', '"cpu"') + WHOLE.partition("8\n")[2].replace('"gpu"', '"cpu"'), "cpu"),
    ],
)
def test_nonsense_is_one_line_that_names_the_key(text: str, names: str) -> None:
    with pytest.raises(SpecdecError) as caught:
        parse_machine(text, source="m.toml")
    assert names in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.message.startswith("m.toml")


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SpecdecError) as caught:
        load_machine(str(path))
    assert caught.value.hint is not None
    assert "apple-24gb" in caught.value.hint


def test_a_folder_is_no_machine_file(tmp_path: Path) -> None:
    with pytest.raises(SpecdecError, match="cannot be read"):
        load_machine(str(tmp_path))
