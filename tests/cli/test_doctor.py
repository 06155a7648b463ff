"""`specdec doctor`: the machine as it is, and what happens when the native library is missing."""

from __future__ import annotations

import psutil

from specdec_cli.errors import SpecdecError
from specdec_cli.protocols import Backend
from tests.support.cli import run_cli
from tests.support.toy import ToyBackend


def test_the_machine_and_the_build_are_shown() -> None:
    result = run_cli("doctor", backend=ToyBackend)
    assert result.code == 0
    for part in ("cores", "memory", "llama-cpp-python 0, built for toy", "GiB", "Hub cache"):
        assert part in result.stdout


def test_the_document_holds_sizes_in_bytes() -> None:
    document = run_cli("doctor", "--json", backend=ToyBackend).document
    assert document["schema"] == 1
    assert 0 < document["machine"]["total_memory"] <= psutil.virtual_memory().total
    assert document["engine"] == {"llama_cpp_python": "0", "backend": "toy"}


def test_a_native_library_that_cannot_load_is_said_and_the_rest_is_shown() -> None:
    def broken() -> Backend:
        raise SpecdecError("libllama.so: wrong ELF class", hint="reinstall it")

    result = run_cli("doctor", backend=broken)
    assert result.code == 1
    assert "wrong ELF class" in result.stdout
    assert "reinstall it" in result.stdout
    assert "cores" in result.stdout
