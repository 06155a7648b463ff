"""The report: verdict, plan and prediction of a pair, from its headers and a described machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specdec_cli.compat.architecture import HYBRID
from specdec_cli.findings import Finding
from specdec_cli.gguf.header import ModelHeader
from specdec_cli.gguf.reader import read_header
from specdec_cli.gguf.types import GgmlType
from specdec_cli.hardware.machine_file import load_machine, parse_machine
from specdec_cli.hardware.values import Machine
from specdec_cli.preflight import (
    MeasuredModel,
    PreflightReport,
    PreflightRequest,
    preflight,
    preflight_document,
)
from specdec_cli.settings import DEFAULT_CONTEXT
from specdec_cli.speeds import MeasuredDrafting, MeasuredSpeed, Span
from tests.support.gguf_files import TensorSpec
from tests.support.headers import header_of, model_header
from tests.support.tiny_models import bpe_vocabulary, write_tiny_model

LAPTOP = load_machine("apple-24gb")
CARD = load_machine("nvidia-12gb")
SMALL = parse_machine(
    """
    name = "small"
    memory_gib = 4
    physical_cores = 2
    [[devices]]
    name = "CPU"
    kind = "cpu"
    total_gib = 4
    reserve_gib = 1
    bandwidth_gb_s = 20
    compute_tflops = 0.2
    """,
    source="small.toml",
)


def big(**keys: Any) -> ModelHeader:
    """2 GB of weights and, for every 1000 tokens of context, 164 MB of cache."""
    wide = {"attention__key_length": 1024, "attention__value_length": 1024}
    return model_header("big", **{"parameters": 1e9, "context": 32768, "layers": 20, **wide, **keys})


def little(**keys: Any) -> ModelHeader:
    return model_header("little", **{"parameters": 1e8, "context": 32768, "layers": 10, **keys})


def report(
    target: ModelHeader, draft: ModelHeader | None = None, machine: Machine = LAPTOP, **more: Any
) -> PreflightReport:
    return preflight(PreflightRequest(target, draft, machine, **more))


def codes(result: PreflightReport) -> list[str]:
    return [finding.code for finding in result.findings]


def settings(n_ctx: int, **more: Any) -> dict[str, Any]:
    chosen = replace(DEFAULT_CONTEXT, n_ctx=n_ctx, **more)
    return {"target_settings": chosen, "draft_settings": chosen}


def test_a_good_pair_is_ok() -> None:
    result = report(big(), little())
    assert result.verdict == "ok"
    assert result.memory is not None
    assert result.memory.fits
    assert result.prediction is not None
    assert result.prediction.speedup is not None
    assert result.refusal(force=False) is None


def test_the_verdict_is_the_worst_level() -> None:
    assert report(big(), little(parameters=3e8)).verdict == "warn"
    assert report(big(), model_header("other", architecture="mamba")).verdict == "fail"


def test_the_document_has_exactly_the_fields_of_the_design() -> None:
    document = preflight_document(report(big(), little(), CARD))
    assert document["schema"] == 1
    assert document["verdict"] in ("ok", "warn", "fail")
    assert set(document) >= {"findings", "target", "draft", "memory", "prediction"}
    assert set(document["findings"][0]) == {"level", "code", "message", "hint"}
    for role in ("target", "draft"):
        assert set(document[role]) >= {"path", "name", "quant", "bytes"}
    memory = document["memory"]
    assert memory["fits"] is True
    assert set(memory["max_context"]) == {"with_draft", "without_draft"}
    for device in memory["devices"]:
        assert set(device) == {"name", "kind", "total", "free", "reserve", "required", "headroom", "parts"}
        assert set(device["parts"]["target"]) == {"weights", "kv", "compute"}
        assert set(device["parts"]["draft"]) == {"weights", "kv", "compute"}
        assert device["required"] == sum(sum(parts.values()) for parts in device["parts"].values())
        assert device["headroom"] == max(0, device["free"] - device["reserve"]) - device["required"]
    prediction = document["prediction"]
    assert set(prediction) == {
        *("plain_tps", "speculative_tps", "speedup", "basis"),
        *("measured", "speedup_measured"),
    }
    assert prediction["speculative_tps"]["low"] <= prediction["speculative_tps"]["high"]
    assert prediction["speedup"]["low"] == pytest.approx(
        prediction["speculative_tps"]["low"] / prediction["plain_tps"]
    )


def test_a_target_alone_has_no_draft_anywhere() -> None:
    document = preflight_document(report(big()))
    assert document["draft"] is None
    assert document["memory"]["devices"][0]["parts"]["draft"] is None
    assert document["memory"]["max_context"]["with_draft"] is None
    assert document["memory"]["max_context"]["without_draft"] == 32768
    assert document["prediction"]["speculative_tps"] is None
    assert document["prediction"]["plain_tps"] > 0


def test_what_does_not_fit_fails_with_a_suggestion_and_may_be_forced() -> None:
    result = report(big(), little(), SMALL, **settings(32768))
    assert result.verdict == "fail"
    (finding,) = [finding for finding in result.findings if finding.code == "memory.does_not_fit"]
    assert "--ctx" in (finding.hint or "")
    refusal = result.refusal(force=False)
    assert refusal is not None
    assert refusal.message == finding.message
    assert refusal.code == "memory.does_not_fit"
    assert "--force" in (refusal.hint or "")
    assert result.refusal(force=True) is None


def test_the_largest_context_is_smaller_with_the_draft() -> None:
    result = report(big(), little(), SMALL)
    assert result.memory is not None
    with_draft, without = result.memory.max_context_with_draft, result.memory.max_context_without_draft
    assert with_draft is not None
    assert without is not None
    assert 0 < with_draft < without < 32768
    for context, fits in ((with_draft, True), (with_draft + 256, False)):
        planned = report(big(), little(), SMALL, **settings(context)).memory
        assert planned is not None
        assert planned.fits is fits


def test_force_never_passes_what_would_crash() -> None:
    crash = report(big(), model_header("head", extra_tensors=[TensorSpec("d2t", (64,), GgmlType.I64)]))
    for force in (False, True):
        refusal = crash.refusal(force=force)
        assert refusal is not None
        assert refusal.code == "arch.draft_head"
        assert "--force" not in (refusal.hint or "")


def test_a_quantized_cache_without_flash_attention_is_refused() -> None:
    result = report(big(), little(), **settings(2048, kv_type="q8_0", flash_attention="off"))
    refusal = result.refusal(force=True)
    assert refusal is not None
    assert refusal.code == "kv.flash_attention"


def test_quantized_caches_of_both_models_are_a_warning() -> None:
    assert "kv.quantized_with_draft" in codes(report(big(), little(), **settings(2048, kv_type="q8_0")))
    assert not any(code.startswith("kv.") for code in codes(report(big(), **settings(2048, kv_type="q8_0"))))


def test_the_context_is_bounded_by_training_unless_it_was_chosen() -> None:
    trained = big(context=2048)
    assert report(trained, **settings(4096)).context == 2048
    assert "context.beyond_training" not in codes(report(trained, **settings(4096)))
    chosen = report(trained, explicit_ctx=True, **settings(4096))
    assert chosen.context == 4096
    assert "context.beyond_training" in codes(chosen)


def test_a_drafts_cache_is_no_longer_than_its_own_training() -> None:
    def draft_kv(draft: ModelHeader) -> int:
        plan = report(big(), draft, **settings(8192)).memory
        assert plan is not None
        assert plan.devices[0].draft is not None
        return plan.devices[0].draft.kv

    assert draft_kv(little(context=2048)) * 4 == draft_kv(little(context=8192))


def test_the_same_file_is_loaded_once_and_cached_twice() -> None:
    model = big()
    plan = report(model, model).memory
    assert plan is not None
    target, draft = plan.devices[0].target, plan.devices[0].draft
    assert draft is not None
    assert draft.weights == 0
    assert draft.kv == target.kv
    prediction = report(model, model).prediction
    assert prediction is not None
    assert prediction.speedup is not None
    assert prediction.speedup.high < 1.2


def test_a_pair_that_gains_nothing_is_told_before_it_is_tried() -> None:
    result = report(big(), little(parameters=9e8))
    (finding,) = [finding for finding in result.findings if finding.code == "hardware.no_gain"]
    assert finding.level == "warning"
    assert "times that of plain decoding" in finding.message


MEASURED = MeasuredSpeed(
    20.0,
    "measured here in 3 runs",
    MeasuredDrafting(Span(18.0, 20.4), Span(0.9, 1.02), "measured here in 2 runs"),
)


def no_gain(result: PreflightReport) -> list[Finding]:
    return [finding for finding in result.findings if finding.code == "hardware.no_gain"]


def test_measured_speeds_replace_the_prediction_and_decide_whether_it_pays() -> None:
    assert no_gain(report(big(), little())) == []
    result = report(big(), little(), measured_speed=MEASURED)
    assert preflight_document(result)["prediction"] == {
        "plain_tps": 20.0,
        "speculative_tps": {"low": 18.0, "high": 20.4},
        "speedup": {"low": 0.9, "high": 1.02},
        "basis": "measured here in 2 runs",
        "measured": True,
        "speedup_measured": True,
    }
    (finding,) = no_gain(result)
    assert finding.message.startswith("measured speed is 0.90 to 1.02 times that of plain decoding")
    assert "predicted" not in f"{finding.message} {finding.hint}"
    pays = replace(MEASURED, drafting=MeasuredDrafting(Span(30.0, 30.0), Span(1.5, 1.5), "measured here"))
    assert no_gain(report(big(), little(parameters=9e8))) != []
    assert no_gain(report(big(), little(parameters=9e8), measured_speed=pays)) == []


def test_where_only_plain_decoding_was_measured_the_gain_is_still_called_predicted() -> None:
    result = report(big(), little(parameters=9e8), measured_speed=replace(MEASURED, drafting=None))
    (finding,) = no_gain(result)
    assert finding.message.startswith("predicted speed is ")
    assert result.prediction is not None
    assert result.prediction.plain_tps == 20.0
    assert result.prediction.basis.startswith("plain measured here in 3 runs; speed-up estimated from ")


def test_measured_speeds_of_a_target_alone() -> None:
    result = report(big(), measured_speed=MEASURED)
    assert no_gain(result) == []  # there is no draft to leave out
    assert result.verdict == "ok"
    assert result.prediction is not None
    assert result.prediction.speedup == Span(0.9, 1.02)


def test_a_draft_that_would_not_be_drafted_with_promises_nothing_whatever_it_once_did() -> None:
    result = report(big(), little(vocabulary=bpe_vocabulary(pre="qwen2")), measured_speed=MEASURED)
    assert result.prediction is not None
    assert result.prediction.plain_tps == 20.0
    assert result.prediction.speedup is None


def test_what_cannot_run_has_no_speed_even_if_one_was_measured() -> None:
    result = report(header_of({"general.architecture": "clip"}, []), measured_speed=MEASURED)
    assert result.prediction is None


def test_a_draft_of_another_family_is_planned_in_case_it_is_forced_but_promises_nothing() -> None:
    result = report(big(), little(vocabulary=bpe_vocabulary(pre="qwen2")))
    assert result.verdict == "fail"
    assert result.memory is not None
    assert result.memory.draft is not None
    assert result.prediction is not None
    assert result.prediction.speedup is None


def test_a_hybrid_target_is_planned_plain() -> None:
    assert "qwen3next" in HYBRID
    result = report(
        model_header("next", architecture="qwen3next", parameters=1e8), little(architecture="qwen3")
    )
    assert result.verdict == "warn"
    assert result.memory is not None
    assert result.memory.draft is None
    assert result.prediction is None or result.prediction.speedup is None


def test_a_projector_has_neither_plan_nor_prediction() -> None:
    result = report(header_of({"general.architecture": "clip"}, [TensorSpec("v.weight", (32, 32))]), little())
    document = preflight_document(result)
    assert document["verdict"] == "fail"
    assert document["memory"] is None
    assert document["prediction"] is None


def test_memory_of_an_unknown_architecture_is_unknown_and_never_a_low_number() -> None:
    result = report(big(architecture="brand-new"))
    document = preflight_document(result)
    assert document["memory"]["fits"] is None
    assert document["memory"]["max_context"]["without_draft"] is None
    assert "memory.unknown" in codes(result)
    assert result.verdict == "warn"


def test_measured_sizes_replace_the_computed_ones_and_end_the_unknown() -> None:
    measured = MeasuredModel(
        weights=2_000_000_000,
        cache_by_device={"CPU": 100_000_000, "CUDA0": 900_000_000},
        compute_by_device={"CUDA0": 50_000_000, "CUDA_Host": 7_000_000},
    )
    result = report(big(architecture="brand-new"), machine=CARD, measured_target=measured)
    assert result.memory is not None
    assert result.memory.fits is True
    host, card = result.memory.devices
    assert host.target.weights + card.target.weights == pytest.approx(2_000_000_000, abs=2)
    assert (host.target.kv, host.target.compute) == (100_000_000, 7_000_000)
    assert (card.target.kv, card.target.compute) == (900_000_000, 50_000_000)
    assert "memory.unknown" not in codes(result)


def test_measured_sizes_can_make_a_plan_fail() -> None:
    measured = MeasuredModel(2_000_000_000, {"CPU": 5_000_000_000}, {})
    result = report(big(), machine=SMALL, measured_target=measured, **settings(512))
    assert result.verdict == "fail"
    assert "memory.does_not_fit" in codes(result)


def test_notes_from_the_way_here_are_part_of_the_report() -> None:
    note = Finding("warning", "hardware.native_library", "GPUs are not counted")
    result = report(big(), little(), notes=(note,))
    assert note in result.findings
    assert result.verdict == "warn"


def test_every_family_member_is_planned_from_a_real_file(tmp_path: Path) -> None:
    target = read_header(write_tiny_model(tmp_path / "target.gguf"))
    draft = read_header(write_tiny_model(tmp_path / "draft.gguf", seed=1, layers=1))
    result = report(target, draft, SMALL)
    assert result.context == 512
    assert result.memory is not None
    assert result.memory.fits
