"""From what the system and llama.cpp say to a machine; thread counts; bandwidth and its memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from specdec_cli.errors import SpecdecError
from specdec_cli.hardware import bandwidth
from specdec_cli.hardware.chips import chip_rates
from specdec_cli.hardware.probe import machine_of, probe_machine
from specdec_cli.hardware.system import SystemFacts, system_facts
from specdec_cli.hardware.threads import default_threads
from specdec_cli.hardware.values import GIB, default_reserve
from specdec_cli.protocols import BackendDevice

FACTS = SystemFacts(8, 8, 16.0, 32 * GIB, 20 * GIB, in_container=False)
CPU = BackendDevice("CPU", "some processor", "cpu", 32 * GIB, 20 * GIB)
CARD = BackendDevice("CUDA0", "NVIDIA GeForce RTX 3090", "gpu", 24 * GIB, 23 * GIB)
METAL = BackendDevice("MTL0", "Apple M4 Max", "gpu", 48 * GIB, 48 * GIB)
SHARED = BackendDevice("Vulkan0", "AMD Radeon Graphics (RADV)", "igpu", 16 * GIB, 15 * GIB)


def test_a_cpu_alone() -> None:
    machine = machine_of(FACTS, [CPU], 40e9)
    (host,) = machine.devices
    assert (host.kind, host.total, host.free, host.bandwidth) == ("cpu", 32 * GIB, 20 * GIB, 40e9)
    assert machine.bandwidth_measured
    assert machine.gpus == ()


def test_a_discrete_card_beside_system_memory() -> None:
    machine = machine_of(FACTS, [CARD, CPU], 40e9)
    host, card = machine.devices
    assert (card.kind, card.free, card.reserve) == ("gpu", 23 * GIB, GIB)
    assert card.bandwidth == 936e9
    assert host.kind == "cpu"
    assert not machine.bandwidth_measured


def test_apple_memory_is_one_pool_as_large_as_its_working_set_and_no_freer_than_the_system() -> None:
    machine = machine_of(FACTS, [METAL, CPU], 40e9)
    (metal,) = machine.devices
    assert (metal.kind, metal.total, metal.free) == ("unified", 32 * GIB, 20 * GIB)
    assert metal.bandwidth == 546e9


def test_an_integrated_gpu_shares_memory_and_counts_only_without_a_card() -> None:
    assert [device.kind for device in machine_of(FACTS, [SHARED, CPU], 40e9).devices] == ["unified"]
    assert [device.kind for device in machine_of(FACTS, [SHARED, CARD, CPU], 40e9).devices] == ["cpu", "gpu"]


def test_an_unknown_card_has_no_rates() -> None:
    card = replace(CARD, description="Experimental 9000")
    assert machine_of(FACTS, [card], 40e9).gpus[0].bandwidth is None


def test_a_native_library_that_does_not_load_is_said_and_survived() -> None:
    def broken() -> Sequence[BackendDevice]:
        raise SpecdecError("llama.cpp's native library cannot be loaded: no such file", hint="reinstall")

    probe = probe_machine(broken, bandwidth_cache=None, facts=FACTS)
    assert [device.kind for device in probe.machine.devices] == ["cpu"]
    (finding,) = probe.findings
    assert finding.code == "hardware.native_library"
    assert "no such file" in finding.message


def test_the_real_machine() -> None:
    facts = system_facts()
    assert 1 <= facts.performance_cores <= facts.physical_cores
    assert 0 < facts.free_memory <= facts.total_memory
    assert 1 <= default_threads() <= facts.physical_cores


@pytest.mark.parametrize(
    ("physical", "fast", "usable", "threads"),
    [(8, 8, 16.0, 8), (8, 4, 16.0, 4), (8, 8, 2.5, 2), (8, 8, 0.5, 1), (1, 1, 1.0, 1)],
)
def test_threads(physical: int, fast: int, usable: float, threads: int) -> None:
    facts = SystemFacts(physical, fast, usable, GIB, GIB, in_container=False)
    assert default_threads(facts) == threads


@pytest.mark.parametrize(
    ("description", "gigabytes"),
    [
        ("Apple M4 Max", 546),
        ("Apple M4", 120),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", 672),
        ("NVIDIA GeForce RTX 4070", 504),
        ("AMD Radeon RX 7900 XTX (RADV NAVI31)", 960),
    ],
)
def test_the_longest_name_of_a_chip_decides(description: str, gigabytes: int) -> None:
    rates = chip_rates(description)
    assert rates is not None
    assert rates.bandwidth == gigabytes * 1e9


@pytest.mark.parametrize("description", ["", "NVIDIA GeForce RTX 4070 Laptop GPU", "RTX 30900", "Apple M44"])
def test_chips_that_are_not_known(description: str) -> None:
    assert chip_rates(description) is None


def test_reserves_are_small_where_memory_is_small() -> None:
    assert default_reserve("gpu", 24 * GIB) == GIB
    assert default_reserve("cpu", 64 * GIB) == 2 * GIB
    assert default_reserve("gpu", 2 * GIB) == GIB // 4


def test_bandwidth_is_measured_quickly_and_is_plausible() -> None:
    measured = bandwidth.measure_bandwidth(1, seconds=0.05)
    assert measured is not None
    assert 1e8 < measured < 1e13


def test_bandwidth_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "new" / "bandwidth.json"
    monkeypatch.setattr(bandwidth, "measure_bandwidth", lambda cores: 30e9)
    assert bandwidth.memory_bandwidth(2, GIB, cache) == 30e9
    monkeypatch.setattr(bandwidth, "measure_bandwidth", lambda cores: 20e9)
    assert bandwidth.memory_bandwidth(2, GIB, cache) == 30e9
    assert bandwidth.memory_bandwidth(4, GIB, cache) == 20e9, "another number of cores is another machine"
    assert bandwidth.memory_bandwidth(2, GIB, cache, again=True) == 30e9, "the better one is kept"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": 9}', '{"schema": 1, "bytes_per_second": 3}'])
def test_a_damaged_memory_is_measured_anew(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "bandwidth.json"
    cache.write_text(content, encoding="utf-8")
    monkeypatch.setattr(bandwidth, "measure_bandwidth", lambda cores: 30e9)
    assert bandwidth.memory_bandwidth(2, GIB, cache) == 30e9
    assert json.loads(cache.read_text(encoding="utf-8"))["schema"] == 1


def test_a_memory_that_cannot_be_written_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setattr(bandwidth, "measure_bandwidth", lambda cores: 30e9)
    assert bandwidth.memory_bandwidth(2, GIB, tmp_path / "file" / "bandwidth.json") == 30e9
