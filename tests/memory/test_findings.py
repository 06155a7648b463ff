"""What the plan says, and the suggestion that fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specdec_cli.findings import Finding
from specdec_cli.hardware.values import GIB, Device, Machine
from specdec_cli.memory.findings import human_size, memory_findings
from specdec_cli.memory.plan import fits, plan_memory
from specdec_cli.memory.suggest import suggest
from specdec_cli.memory.wish import ModelWish
from specdec_cli.settings import ContextSettings
from tests.support.model_shapes import dense_shape


def card(gib: float, host_gib: float = 32) -> Machine:
    host = Device("CPU", "cpu", int(host_gib * GIB), int(host_gib * GIB), 2 * GIB)
    gpu = Device("CUDA0", "gpu", int(gib * GIB), int(gib * GIB), GIB)
    return Machine("test", (host, gpu), 8, 8, 8.0, host.total, host.free)


def laptop(gib: float) -> Machine:
    device = Device("Metal", "unified", int(gib * GIB), int(gib * GIB), GIB)
    return Machine("laptop", (device,), 8, 8, 8.0, device.total, device.free)


def wish(model: str, quantization: str = "Q4_K_M", rows: int = 5, **changes: Any) -> ModelWish:
    return ModelWish(dense_shape(model, quantization), ContextSettings(**changes), rows)


def say(target: ModelWish, draft: ModelWish | None, machine: Machine) -> dict[str, Finding]:
    findings = memory_findings(plan_memory(target, draft, machine), target, draft, machine)
    return {finding.code: finding for finding in findings}


def test_nothing_to_say_when_it_fits() -> None:
    assert say(wish("qwen2.5-7b"), wish("qwen2.5-0.5b", rows=1), card(24)) == {}


def test_too_large_a_context_names_both_numbers_and_one_that_fits() -> None:
    target, draft = wish("qwen2.5-32b", n_ctx=24576), wish("qwen2.5-0.5b", rows=1, n_ctx=24576)
    finding = say(target, draft, card(24))["memory.does_not_fit"]
    assert finding.level == "error"
    assert "CUDA0" in finding.message
    assert "24576" in finding.message
    assert finding.hint is not None
    assert "--ctx" in finding.hint


@pytest.mark.parametrize(
    ("target", "draft", "machine", "expected"),
    [
        (wish("qwen2.5-32b", n_ctx=24576), wish("qwen2.5-0.5b", rows=1, n_ctx=24576), card(24), ["--ctx"]),
        (wish("gemma3-12b", n_ctx=2048), None, laptop(8.35), ["--kv-type q8_0"]),
        (wish("gemma3-12b", n_ctx=4096), None, laptop(8.35), ["--kv-type q8_0", "--ctx"]),
        (wish("qwen2.5-32b"), wish("qwen2.5-0.5b", rows=1), card(16), ["--gpu-layers"]),
        (wish("qwen2.5-7b", n_ctx=2048), wish("qwen2.5-1.5b", rows=1, n_ctx=2048), laptop(6), ["--drafter none"]),
        (wish("qwen2.5-7b", n_ctx=32768), wish("qwen2.5-1.5b", rows=1), laptop(6), ["--drafter none", "--ctx"]),
    ],
)  # fmt: skip
def test_the_cheapest_loss_comes_first(
    target: ModelWish, draft: ModelWish | None, machine: Machine, expected: list[str]
) -> None:
    assert not fits(target, draft, machine)
    suggestion = suggest(target, draft, machine)
    assert suggestion is not None
    assert fits(suggestion.target, suggestion.draft, machine)
    assert len(suggestion.changes) == len(expected), str(suggestion)
    for change, start in zip(suggestion.changes, expected, strict=True):
        assert change.startswith(start), str(suggestion)


def test_what_can_never_fit_gets_no_suggestion() -> None:
    target = wish("llama3.3-70b")
    assert suggest(target, None, laptop(16)) is None
    hint = say(target, None, laptop(16))["memory.does_not_fit"].hint
    assert hint is not None
    assert "smaller model" in hint


def test_unknown_memory_is_said_and_not_guessed() -> None:
    target = wish("qwen2.5-7b")
    unknown = replace(target, shape=replace(target.shape, unknown="architecture 'brandnew' is not known"))
    findings = say(unknown, None, card(24))
    assert "brandnew" in findings["memory.unknown"].message
    assert suggest(unknown, None, card(24)) is None


def test_a_tight_fit_is_a_warning() -> None:
    target = wish("qwen2.5-7b")
    needed = plan_memory(target, None, card(24)).devices[1].required
    assert "memory.tight" in say(target, None, card((needed + 1.1 * GIB) / GIB))


def test_layers_left_behind_are_named() -> None:
    findings = say(wish("qwen2.5-7b", gpu_layers=10), wish("qwen2.5-0.5b", rows=1, gpu_layers=0), card(24))
    assert "19 of 28" in findings["memory.partly_offloaded"].message
    assert "memory.draft_on_cpu" in findings


def test_a_quantized_cache_needs_flash_attention() -> None:
    target = wish("qwen2.5-7b", kv_type="q8_0", flash_attention="off")
    finding = say(target, None, card(24))["kv.flash_attention"]
    assert finding.level == "error"
    assert not finding.overridable, "llama.cpp cannot make this context"


def test_a_quantized_cache_needs_whole_blocks() -> None:
    target = wish("qwen2.5-7b", kv_type="q4_0")
    odd = tuple(replace(layer, key_length=80) for layer in target.shape.layers)
    finding = say(replace(target, shape=replace(target.shape, layers=odd)), None, card(24))["kv.block_size"]
    assert "80" in finding.message
    assert not finding.overridable


def test_a_quantized_cache_with_a_draft_is_a_warning() -> None:
    findings = say(wish("qwen2.5-7b", kv_type="q8_0"), wish("qwen2.5-0.5b", rows=1, kv_type="q8_0"), card(24))
    assert findings["kv.quantized_with_draft"].level == "warning"


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 MiB"), (96 << 20, "96 MiB"), (GIB, "1.0 GiB"), (-3 * GIB, "-3.0 GiB")]
)
def test_human_size(size: int, text: str) -> None:
    assert human_size(size) == text
