"""The installed program as a person runs it: a pipe that closes, Ctrl-C, files that are no models."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.tiny_models import write_embedding_model

pytestmark = pytest.mark.real
PROGRAM = [sys.executable, "-m", "specdec_cli"]


def program(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, timeout=300, check=False
    )


def test_the_demo_pair_from_nothing() -> None:
    first = program("run", "--pair", "demo", "Write a haiku about rivers.", "-n", "24", "--json")
    assert first.returncode == 0, first.stderr
    document = json.loads(first.stdout)
    assert document["text"]
    assert (document["target"]["quant"], document["draft"]["quant"]) == ("F16", "Q4_0")
    assert document["speculation"]["state"] == "on"
    assert document["speculation"]["accepted"] > 0
    assert document["engine"]["backend"]
    plain = program(
        "run", "--pair", "demo", "Write a haiku about rivers.", "-n", "24", "--drafter", "none", "--json"
    )
    assert json.loads(plain.stdout)["text"] == document["text"]
    made = sorted(Path(os.environ["SPECDEC_CACHE"]).rglob("*.gguf"))
    assert [path.name.rpartition("-")[2] for path in made] == ["F16.gguf", "Q4_0.gguf"]


def test_a_closed_pipe_ends_quietly(demo_files: dict[str, Path]) -> None:
    with subprocess.Popen(
        [*PROGRAM, "run", "--target", str(demo_files["Q4_1"]), "Count to one hundred.", "-n", "400"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(20)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_keeps_what_was_generated(demo_files: dict[str, Path], as_json: bool) -> None:
    command = [*PROGRAM, "run", "--target", str(demo_files["Q4_1"]), "Write a long story.", "-n", "3000"]
    with subprocess.Popen(
        [*command, *(["--json"] if as_json else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        if as_json:
            time.sleep(6)
        else:
            assert process.stdout.read(10)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        assert process.returncode == 130, stderr
    if as_json:
        document = json.loads(stdout)
        assert document["finish_reason"] == "interrupt"
        assert document["generation"]["tokens"] < 3000
    else:
        assert b"tok/s" in stderr
        assert b"speculation: " in stderr
        assert b"Traceback" not in stderr


def test_files_that_are_no_models(tmp_path: Path, demo_files: dict[str, Path]) -> None:
    (tmp_path / "empty.gguf").touch()
    (tmp_path / "text.gguf").write_text("this is not a model, it is a text of some length\n" * 20)
    (tmp_path / "folder.gguf").mkdir()
    whole = demo_files["Q4_1"].read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "header-cut.gguf").write_bytes(whole[:5000])
    write_embedding_model(tmp_path / "embedding.gguf")
    names = ["missing", "empty", "text", "folder", "cut", "header-cut", "embedding"]
    for name in names:
        done = program("run", "--target", tmp_path / f"{name}.gguf", "hello")
        lines = done.stderr.decode().splitlines()
        assert done.returncode == 1, (name, lines)
        assert lines[0].startswith("error: "), (name, lines)
        assert name in lines[0], (name, lines)
        assert len(lines) <= 2, (name, lines)
        assert done.stdout == b""


def test_a_very_long_prompt_and_odd_bytes(demo_files: dict[str, Path]) -> None:
    target = demo_files["Q4_1"]
    done = program("run", "--target", target, stdin=b"word " * 100_000)
    assert done.returncode == 1
    assert b"100" in done.stderr
    assert b"context of 4096" in done.stderr
    done = program("run", "--target", target, stdin=b"caf\xe9")
    assert done.returncode == 1
    assert b"not UTF-8" in done.stderr
    done = program("run", "--target", target, "-n", "4", stdin="null \0 byte, \u202e and emoji 🤖".encode())
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("options", [["--kv-type", "q8_0"], ["--flash-attn", "off"], ["--threads", "1"]])
def test_options_reach_both_contexts(demo_files: dict[str, Path], options: list[str]) -> None:
    done = program(
        "run", "--target", demo_files["Q4_1"], "--draft", demo_files["Q4_0"], "Hi", "-n", "4", "-v", *options
    )
    assert done.returncode == 0, done.stderr
    log = done.stderr.decode()
    expected = {"q8_0": "K (q8_0)", "off": "flash_attn            = disabled", "1": "threads=1"}[options[1]]
    assert log.count(expected) >= 2, log
