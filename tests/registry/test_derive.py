"""Derived models: made once, whole or not at all, remade when the base changes."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from specdec_cli.errors import SpecdecError
from specdec_cli.gguf.reader import read_header
from specdec_cli.registry.derive import DeriveProgress, ensure_derived, find_derived
from tests.support.tiny_models import write_tiny_model


def make_tiny_model(path: Path, ftype: str, base: Path) -> None:
    write_tiny_model(path, metadata={"test.made": f"{ftype} of {base.read_bytes()[:20].hex()}"})


class CountingQuantizer:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def __call__(self, base: Path, destination: Path, ftype: str) -> None:
        self.calls.append(ftype)
        make_tiny_model(destination, ftype, base)


def made_from(path: Path) -> str | None:
    return read_header(path).text("test.made")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf"
    path.write_bytes(b"GGUF the base")
    return path


def test_made_once_and_found_again(tmp_path: Path, base: Path) -> None:
    quantize = CountingQuantizer()
    assert find_derived(base, "F16", tmp_path / "cache") is None
    made = ensure_derived(base, "F16", tmp_path / "cache", quantize)
    assert made.name == "SmolLM2-135M-Instruct-F16.gguf"
    assert made_from(made) == f"F16 of {b'GGUF the base'.hex()}"
    assert ensure_derived(base, "F16", tmp_path / "cache", quantize) == made
    assert find_derived(base, "F16", tmp_path / "cache") == made
    assert ensure_derived(base, "Q4_0", tmp_path / "cache", quantize) != made
    assert quantize.calls == ["F16", "Q4_0"]


def test_a_changed_base_is_derived_again_and_the_same_content_is_not(tmp_path: Path, base: Path) -> None:
    quantize = CountingQuantizer()
    first = ensure_derived(base, "F16", tmp_path / "cache", quantize)
    os.utime(base, ns=(1, 1))
    assert ensure_derived(base, "F16", tmp_path / "cache", quantize) == first
    base.write_bytes(b"GGUF the BASE")
    second = ensure_derived(base, "F16", tmp_path / "cache", quantize)
    assert second != first
    assert made_from(second) == f"F16 of {b'GGUF the BASE'.hex()}"
    assert len(quantize.calls) == 2


def test_a_failure_leaves_nothing_behind(tmp_path: Path, base: Path) -> None:
    def half(base: Path, destination: Path, ftype: str) -> None:
        destination.write_bytes(b"GGUF half")
        raise SpecdecError("the native library gave up")

    def nonsense(base: Path, destination: Path, ftype: str) -> None:
        destination.write_bytes(b"<html>")

    def truncated(base: Path, destination: Path, ftype: str) -> None:
        make_tiny_model(destination, ftype, base)
        destination.write_bytes(destination.read_bytes()[:-100])

    for quantize, words in ((half, "gave up"), (nonsense, "not a GGUF file"), (truncated, "cut short")):
        with pytest.raises(SpecdecError, match=words):
            ensure_derived(base, "F16", tmp_path / "cache", quantize)
        assert not list((tmp_path / "cache" / "derived").rglob("*.*"))


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path: Path, base: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(SpecdecError, match=r"cannot make SmolLM2-135M-Instruct-F16.gguf") as caught:
        ensure_derived(base, "F16", tmp_path / "cache", CountingQuantizer())
    assert caught.value.hint is not None
    assert "SPECDEC_CACHE" in caught.value.hint


def test_progress_follows_the_growing_file(tmp_path: Path, base: Path) -> None:
    def slow(base: Path, destination: Path, ftype: str) -> None:
        _slow_quantize(base, destination, ftype)

    seen: list[DeriveProgress] = []
    ensure_derived(base, "F16", tmp_path / "cache", slow, seen.append)
    sizes = [step.bytes_written for step in seen]
    assert sizes == sorted(sizes)
    assert any(0 < size < sizes[-1] for size in sizes)
    assert sizes[0] == 0
    assert [step.done for step in seen].count(True) == 1


def _slow_quantize(base: Path, destination: Path, ftype: str) -> None:
    make_tiny_model(destination, ftype, base)
    whole = destination.read_bytes()
    with destination.open("wb") as file:
        for start in range(0, len(whole), len(whole) // 10):
            file.write(whole[start : start + len(whole) // 10])
            file.flush()
            time.sleep(0.04)


def _derive_in_process(base: Path, cache: Path) -> None:
    ensure_derived(base, "F16", cache, _slow_quantize)


def test_two_processes_at_once_end_with_one_good_file(tmp_path: Path, base: Path) -> None:
    cache = tmp_path / "cache"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_derive_in_process, args=(base, cache)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
        assert process.exitcode == 0
    (made,) = (path for path in (cache / "derived").rglob("*") if path.is_file())
    assert made_from(made) == f"F16 of {b'GGUF the base'.hex()}"


def test_a_killed_process_leaves_nothing_taken_for_whole(tmp_path: Path, base: Path) -> None:
    cache = tmp_path / "cache"
    process = multiprocessing.get_context("spawn").Process(target=_derive_in_process, args=(base, cache))
    process.start()
    deadline = time.monotonic() + 20
    while not (parts := list((cache / "derived").rglob(".*.part"))) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.kill()
    process.join(10)
    assert parts
    assert find_derived(base, "F16", cache) is None
    os.utime(parts[0], (1, 1))  # as if it had been lying there for long
    ensure_derived(base, "F16", cache, _slow_quantize)
    assert not parts[0].exists()
