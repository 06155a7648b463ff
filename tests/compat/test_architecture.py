"""What kind of model a file is, and whether it can be a target or a draft."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdec_cli.compat import compare
from specdec_cli.compat.architecture import DIFFUSION, EMBEDDING, HYBRID, RECURRENT
from specdec_cli.findings import Finding
from specdec_cli.gguf.header import ModelHeader
from specdec_cli.gguf.reader import read_header
from specdec_cli.gguf.types import GgmlType
from tests.support.gguf_files import TensorSpec
from tests.support.headers import header_of, model_header
from tests.support.tiny_models import write_draft_head, write_embedding_model

PLAIN = model_header("plain", parameters=1e8)


def architecture_findings(target: ModelHeader, draft: ModelHeader | None = None) -> list[Finding]:
    return [finding for finding in compare(target, draft).findings if finding.code.startswith("arch.")]


def only(target: ModelHeader, draft: ModelHeader | None = None) -> Finding:
    (finding,) = architecture_findings(target, draft)
    return finding


def small(architecture: str, **keys: int) -> ModelHeader:
    return model_header("small", architecture=architecture, parameters=1e7, **keys)


def test_an_ordinary_pair_has_nothing_to_say() -> None:
    assert architecture_findings(PLAIN, small("llama")) == []


@pytest.mark.parametrize("architecture", sorted(RECURRENT | HYBRID))
def test_a_target_that_cannot_roll_back_runs_plain_and_a_draft_is_refused(architecture: str) -> None:
    finding = only(small(architecture))
    assert (finding.level, finding.code) == ("warning", "arch.no_rollback")
    assert f"`{architecture}`" in finding.message
    assert "without speculation" in finding.message
    finding = only(PLAIN, small(architecture))
    assert (finding.level, finding.code, finding.overridable) == ("error", "arch.no_rollback", False)
    assert "the draft is" in finding.message


def test_a_plain_draft_for_a_hybrid_target_is_told_to_be_useless() -> None:
    found = architecture_findings(small("qwen3next"), small("qwen3"))
    assert [finding.code for finding in found] == ["arch.no_rollback", "arch.draft_unused"]
    assert "`qwen3`" in found[1].message
    assert "`qwen3next`" in found[1].message


@pytest.mark.parametrize("kind", ["eagle3", "dflash", "mtp"])
def test_a_draft_head_is_recognised_in_either_place(kind: str, tmp_path: Path) -> None:
    head = read_header(write_draft_head(tmp_path / "head.gguf", kind))
    for role, finding in (("target", only(head)), ("draft", only(PLAIN, head))):
        assert (finding.level, finding.code, finding.overridable) == ("error", "arch.draft_head", False)
        assert f"the {role}" in finding.message
        assert "draft head" in finding.message


def test_a_head_is_known_by_its_tensors_whatever_its_architecture_says() -> None:
    head = model_header("head", extra_tensors=[TensorSpec("d2t", (64,), GgmlType.I64)])
    assert only(head).code == "arch.draft_head"


def test_next_token_layers_inside_a_whole_model_are_information() -> None:
    finding = only(small("qwen3", nextn_predict_layers=1))
    assert (finding.level, finding.code) == ("info", "arch.embedded_head")


def test_an_embedding_model_is_refused_in_either_place(tmp_path: Path) -> None:
    bert = read_header(write_embedding_model(tmp_path / "bert.gguf"))
    assert only(bert).code == only(PLAIN, bert).code == "arch.embedding"
    assert not only(bert).overridable


@pytest.mark.parametrize("architecture", sorted(EMBEDDING))
def test_every_embedding_architecture_is_known(architecture: str) -> None:
    assert only(small(architecture)).code == "arch.embedding"


def test_a_decoder_that_pools_is_an_embedding_model() -> None:
    finding = only(small("qwen3", pooling_type=3))
    assert (finding.level, finding.code) == ("error", "arch.embedding")
    assert "pooling_type 3" in finding.message
    assert only(small("llama", attention__causal=False)).code == "arch.embedding"


@pytest.mark.parametrize(
    ("architecture", "code"),
    [
        *((name, "arch.diffusion") for name in sorted(DIFFUSION)),
        ("t5", "arch.encoder_decoder"),
        ("wavtokenizer-dec", "arch.sound"),
    ],
)
def test_models_that_write_no_text_from_left_to_right_are_refused(architecture: str, code: str) -> None:
    assert only(small(architecture)).code == code


def test_projectors_and_adapters_are_named() -> None:
    tensors = [TensorSpec("v.patch_embd.weight", (32, 32))]
    assert only(header_of({"general.architecture": "clip"}, tensors)).code == "arch.projector"
    adapter = {"general.architecture": "llama", "general.type": "adapter"}
    assert only(header_of(adapter, tensors)).code == "arch.adapter"
    projector = {"general.architecture": "llama", "general.type": "mmproj"}
    assert only(PLAIN, header_of(projector, tensors)).code == "arch.projector"


def test_a_refused_file_gets_no_findings_that_follow_from_it() -> None:
    report = compare(header_of({"general.architecture": "clip"}, [TensorSpec("v.weight", (32, 32))]), PLAIN)
    assert [finding.code for finding in report.findings] == ["arch.projector"]


def test_a_mixture_of_experts_is_warned_about() -> None:
    finding = only(model_header("moe", experts=8, parameters=1e8))
    assert (finding.level, finding.code) == ("warning", "arch.moe")
    assert "2 of 8" in finding.message


def test_a_file_without_weights_is_refused_beside_one_that_has_them() -> None:
    bare = header_of({key: value for key, value in PLAIN.metadata.items() if isinstance(value, str)})
    report = compare(PLAIN, bare)
    (finding,) = [finding for finding in report.findings if finding.code == "file.no_weights"]
    assert finding.level == "error"
    assert "the draft" in finding.message


def test_the_architectures_that_pains_are_reported_of_are_known() -> None:
    assert not RECURRENT & HYBRID
    assert {"mamba", "mamba2", "rwkv6", "rwkv7"} <= RECURRENT
    assert {
        "jamba",
        "falcon-h1",
        "plamo2",
        "granitehybrid",
        "lfm2",
        "qwen3next",
        "nemotron_h",
        "kimi-linear",
    } <= HYBRID
