"""Sizes, quantization, templates, contexts: what makes a compatible pair a poor one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specdec_cli.compat import CompatibilityReport, compare
from specdec_cli.findings import Finding
from specdec_cli.gguf.types import GgmlType
from specdec_cli.settings import DEFAULT_CONTEXT
from tests.support.headers import model_header
from tests.support.tiny_models import CHATML, bpe_vocabulary

MISTRAL = "{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}"


def found(report: CompatibilityReport, code: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.code == code]


def pair(
    target: dict[str, Any] | None = None, draft: dict[str, Any] | None = None, **more: Any
) -> CompatibilityReport:
    return compare(
        model_header("target", **{"parameters": 1e9, **(target or {})}),
        model_header("draft", **{"parameters": 1e8, **(draft or {})}),
        **more,
    )


def test_a_tenth_of_the_target_is_within_the_guidance() -> None:
    (finding,) = pair().findings
    assert (finding.level, finding.code) == ("info", "size.ratio")
    assert "10.0% of the target's bytes (200 MB of 2.0 GB) and 10.0% of its parameters" in finding.message


def test_a_draft_of_a_third_is_too_large() -> None:
    report = pair(draft={"parameters": 3.3e8})
    (finding,) = found(report, "size.draft_large")
    assert finding.level == "warning"
    assert "33.0%" in finding.message
    assert "5% to 20%" in finding.message
    assert report.size is not None
    assert report.size.bytes_ratio == pytest.approx(0.33, abs=0.01)


def test_bytes_decide_and_parameters_explain() -> None:
    report = pair({"ggml_type": GgmlType.F16}, {"parameters": 1e9, "ggml_type": GgmlType.Q4_0})
    (finding,) = found(report, "size.draft_large")
    assert "28.1% of the target's bytes" in finding.message
    assert "100.0% of its parameters" in finding.message
    assert found(pair(draft={"parameters": 3e8, "ggml_type": GgmlType.Q4_0}), "size.ratio")


def test_a_draft_as_large_as_its_target_is_named() -> None:
    (finding,) = found(pair(draft={"parameters": 2e9}), "size.draft_not_smaller")
    assert "swapped" in (finding.hint or "")


def test_the_same_file_twice_is_recognised_by_path_and_by_content() -> None:
    header = model_header("target", parameters=1e9)
    for other in (header, replace(header, source="copy.gguf")):
        (finding,) = found(compare(header, other), "file.same")
        assert finding.level == "warning"
        assert f"target.gguf and {other.source}, 2.0 GB" in finding.message
    assert not found(pair(draft={"parameters": 1e9}), "file.same")


@pytest.mark.parametrize(
    ("target", "draft", "warned"),
    [
        (GgmlType.Q4_K, GgmlType.Q8_0, True),
        (GgmlType.F16, GgmlType.Q4_0, True),
        (GgmlType.Q4_K, GgmlType.Q4_0, False),
        (GgmlType.Q4_K, GgmlType.Q6_K, False),
        (GgmlType.Q8_0, GgmlType.Q8_0, False),
    ],
)
def test_quantization_levels_should_match(target: GgmlType, draft: GgmlType, warned: bool) -> None:
    findings = found(pair({"ggml_type": target}, {"ggml_type": draft}), "quant.levels")
    assert bool(findings) == warned
    for finding in findings:
        assert finding.level == "warning"
        assert f"target {target.name} ({target.bits_per_element:.1f}" in finding.message
        assert f"draft {draft.name} ({draft.bits_per_element:.1f}" in finding.message
        assert "others measured" in (finding.hint or "")


def test_precise_embeddings_of_a_small_model_are_no_other_level() -> None:
    vocabulary = bpe_vocabulary(20_000)
    report = pair(
        {"ggml_type": GgmlType.Q4_K, "vocabulary": vocabulary},
        {
            "ggml_type": GgmlType.Q4_0,
            "embedding_type": GgmlType.Q8_0,
            "vocabulary": vocabulary,
            "parameters": 1e6,
        },
    )
    assert report.draft is not None
    assert report.draft.bits_per_weight is not None
    assert report.draft.bits_per_weight > 7.5
    assert not found(report, "quant.levels")


@pytest.mark.parametrize("ggml_type", [GgmlType.Q3_K, GgmlType.Q2_K, GgmlType.IQ2_XXS])
def test_a_draft_below_four_bits_is_warned_about(ggml_type: GgmlType) -> None:
    assert found(pair({"ggml_type": ggml_type}, {"ggml_type": ggml_type}), "quant.low_bits")


def test_the_summary_has_bits_and_types_from_the_tensor_table() -> None:
    report = pair({"ggml_type": GgmlType.Q4_K})
    assert report.target.dominant_type == "Q4_K"
    assert report.target.bits_per_weight == pytest.approx(4.5, abs=0.01)
    assert report.draft is not None
    assert report.draft.quantization == "F16"


def with_template(template: str | None) -> dict[str, Any]:
    return {"vocabulary": bpe_vocabulary(chat_template=template)}


def test_an_instruct_target_with_a_base_draft() -> None:
    (finding,) = found(pair(with_template(CHATML), with_template(None)), "family.base_against_instruct")
    assert finding.level == "warning"
    assert "the target has a chat template, the draft has none" in finding.message


def test_a_target_without_template_is_told_with_the_way_out() -> None:
    (finding,) = found(compare(model_header("base", **with_template(None))), "template.missing")
    assert "--raw" in (finding.hint or "")


def test_templates_of_other_formats_differ_and_other_wording_does_not() -> None:
    (finding,) = found(pair(with_template(CHATML), with_template(MISTRAL)), "template.differs")
    assert finding.level == "warning"
    assert "`<|im_start|>`" in finding.message
    assert "`[INST]`" in finding.message
    reworded = "{# a newer version #}" + CHATML + "You are helpful.<|im_end|>"
    assert found(pair(with_template(CHATML), with_template(reworded)), "template.wording")[0].level == "info"
    assert not any(
        f.code.startswith("template.")
        for f in pair(with_template(CHATML), with_template(CHATML + "\n")).findings
    )


def test_base_against_instruct_by_name_counts_only_with_another_end_token() -> None:
    def named(name: str, eos: int) -> Any:
        return model_header(name, parameters=1e8, vocabulary=bpe_vocabulary(eos_token_id=eos))

    code = "family.base_against_instruct"
    assert found(compare(named("Big 7B Instruct", 2), named("Small 0.5B", 0)), code)
    assert not found(compare(named("Big 7B Instruct", 2), named("Small 0.5B", 2)), code)
    assert not found(compare(named("gemma-12b-it", 2), named("gemma-1b-it", 0)), code)


def test_a_draft_trained_on_less_than_the_context_in_use() -> None:
    context = replace(DEFAULT_CONTEXT, n_ctx=4096)
    (finding,) = found(pair({"context": 32768}, {"context": 2048}, context=context), "context.draft_shorter")
    assert finding.level == "warning"
    assert "trained on 2048 tokens, the context in use is 4096: drafting stops at 2048" in finding.message
    (finding,) = found(pair({"context": 32768}, {"context": 8192}, context=context), "context.draft_shorter")
    assert finding.level == "info"


def test_a_context_beyond_the_targets_training() -> None:
    context = replace(DEFAULT_CONTEXT, n_ctx=8192)
    (finding,) = found(pair({"context": 4096}, context=context), "context.beyond_training")
    assert finding.level == "warning"
    assert "8192" in finding.message
    assert "--ctx 4096" in (finding.hint or "")


def test_sliding_windows_bound_a_draft_only_without_the_full_size_cache() -> None:
    sliding = {"architecture": "gemma3", "attention__sliding_window": 512}
    assert not found(pair(sliding, sliding), "kv.sliding_window")
    window_only = replace(DEFAULT_CONTEXT, swa_full=False)
    findings = found(pair(sliding, sliding, context=window_only), "kv.sliding_window")
    assert [finding.level for finding in findings] == ["info", "info"]
    assert "512" in findings[0].message
    short_batches = replace(window_only, n_batch=4)
    warned = found(pair(sliding, context=short_batches, draft_max=8), "kv.sliding_window")
    assert warned[0].level == "warning"
    assert "--draft-max 3" in (warned[0].hint or "")


def test_errors_come_first() -> None:
    report = pair({"experts": 8}, {"vocabulary": bpe_vocabulary(size=260), "parameters": 3e8})
    levels = [finding.level for finding in report.findings]
    assert set(levels) == {"error", "warning", "info"}
    assert levels == sorted(levels, key=["error", "warning", "info"].index)
