"""Which device holds what, what fits, and the largest context that does."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_cli.hardware.values import GIB, Device, Machine
from specdec_cli.memory.placement import place
from specdec_cli.memory.plan import fits, largest_context, plan_as_json, plan_memory, with_context
from specdec_cli.memory.wish import ModelWish
from specdec_cli.settings import ContextSettings
from tests.support.model_shapes import dense_shape

HOST = Device("CPU", "cpu", 64 * GIB, 60 * GIB, 2 * GIB)


def machine(*gpus: float, host: Device = HOST) -> Machine:
    """A machine with GPUs of so many GiB."""
    devices = [Device(f"CUDA{i}", "gpu", int(g * GIB), int(g * GIB), GIB) for i, g in enumerate(gpus)]
    return Machine("test", (host, *devices), 8, 8, 8.0, host.total, host.free)


def unified(gib: float) -> Machine:
    device = Device("Metal", "unified", int(gib * GIB), int(gib * GIB), GIB)
    return Machine("laptop", (device,), 8, 8, 8.0, device.total, device.free)


def wish(model: str = "qwen2.5-7b", quantization: str = "Q4_K_M", rows: int = 5, **changes: Any) -> ModelWish:
    return ModelWish(dense_shape(model, quantization), ContextSettings(**changes), rows)


def test_all_layers_on_the_gpu_leave_the_embedding_behind() -> None:
    target = wish()
    host, gpu = place(target, machine(24)).parts
    shape = target.shape
    assert host.weights == shape.input_bytes
    assert gpu.weights == shape.output_bytes + sum(layer.weight_bytes for layer in shape.layers)
    assert host.kv == 0
    assert host.compute < gpu.compute


def test_a_tied_embedding_is_copied_to_a_gpu_and_not_within_unified_memory() -> None:
    draft = wish("qwen2.5-0.5b", "Q8_0")
    host, gpu = place(draft, machine(24)).parts
    assert host.weights == draft.shape.input_bytes
    assert gpu.weights == draft.shape.weight_bytes
    assert place(draft, unified(16)).parts[0].weights == draft.shape.weight_bytes


def test_the_last_layers_are_offloaded_first() -> None:
    placement = place(wish(gpu_layers=9), machine(24))
    assert placement.layer_devices == (0,) * 20 + (1,) * 9
    assert placement.layers_on_host == 20


def test_without_offloading_the_gpu_still_helps_with_long_prompts() -> None:
    target = wish(gpu_layers=0)
    host, gpu = place(target, machine(24)).parts
    assert gpu.weights == gpu.kv == 0
    assert gpu.compute > target.shape.layers[0].largest_tensor_bytes
    assert host.weights == target.shape.weight_bytes


def test_two_gpus_share_by_free_memory() -> None:
    placement = place(wish(), machine(8, 24))
    assert placement.layer_devices == tuple(sorted(placement.layer_devices))
    assert placement.layer_devices.count(1) == 8  # 29 × 8 ÷ 32, rounded up
    assert placement.layer_devices.count(2) == 21


def test_cache_lies_with_its_layers() -> None:
    target = wish(gpu_layers=15)
    host, gpu = place(target, machine(24)).parts
    assert host.kv == gpu.kv * 14 // 14


@given(
    gpu_layers=st.integers(-1, 40),
    gpus=st.lists(st.floats(1, 80), max_size=3),
    n_ctx=st.integers(1, 40000),
    model=st.sampled_from(["qwen2.5-7b", "gemma3-1b", "llama3.1-8b"]),
)
@settings(max_examples=60, deadline=None)
def test_every_weight_lies_somewhere(gpu_layers: int, gpus: list[float], n_ctx: int, model: str) -> None:
    target = wish(model, gpu_layers=gpu_layers, n_ctx=n_ctx)
    placement = place(target, machine(*gpus))
    copied = target.shape.tied_bytes if placement.layer_devices[-1] != 0 else 0
    assert sum(part.weights for part in placement.parts) == target.shape.weight_bytes + copied
    assert len(placement.layer_devices) == len(target.shape.layers) + 1


@given(
    n_ctx=st.integers(256, 30000),
    more=st.integers(1, 10000),
    swa_full=st.booleans(),
    flash=st.sampled_from(["auto", "off"]),
)
@settings(max_examples=60, deadline=None)
def test_a_larger_context_never_takes_less(n_ctx: int, more: int, swa_full: bool, flash: Any) -> None:
    target = wish("gemma3-12b", n_ctx=n_ctx, swa_full=swa_full, flash_attention=flash)
    here = place(target, machine(24)).parts
    there = place(with_context(target, n_ctx + more), machine(24)).parts
    assert all(a.total <= b.total for a, b in zip(here, there, strict=True))


def test_both_models_are_counted_on_each_device() -> None:
    target, draft = wish(), wish("qwen2.5-0.5b", "Q8_0", rows=1)
    plan = plan_memory(target, draft, machine(24))
    alone = plan_memory(target, None, machine(24))
    assert plan.fits is True
    for both, one in zip(plan.devices, alone.devices, strict=True):
        assert both.draft is not None
        assert both.required == one.required + both.draft.total
        assert both.headroom == both.device.free - both.device.reserve - both.required


def test_the_largest_context_is_the_largest() -> None:
    target, draft = wish("qwen2.5-32b"), wish("qwen2.5-0.5b", "Q8_0", rows=1)
    card = machine(24)
    most = largest_context(target, draft, card)
    assert 0 < most < target.shape.context_length
    assert fits(with_context(target, most), with_context(draft, most), card)
    assert not fits(with_context(target, most + 256), with_context(draft, most + 256), card)
    plan = plan_memory(target, draft, card)
    assert plan.max_context_with_draft == most
    assert plan.max_context_without_draft is not None
    assert plan.max_context_without_draft > most


def test_the_largest_context_stops_at_what_the_model_was_trained_on() -> None:
    assert largest_context(wish("smollm2-135m"), None, machine(80)) == 8192


def test_nothing_fits_at_all() -> None:
    plan = plan_memory(wish("llama3.3-70b"), None, unified(16))
    assert plan.fits is False
    assert plan.max_context_without_draft == 0


def test_an_unknown_model_is_never_a_low_number() -> None:
    target = wish()
    unknown = replace(target, shape=replace(target.shape, unknown="who knows"))
    plan = plan_memory(target, unknown, machine(24))
    assert plan.fits is None
    assert plan.max_context_with_draft is None
    assert plan.max_context_without_draft is not None
    assert plan_memory(unknown, None, machine(4)).fits is False, "its weights alone do not fit"


def test_the_json_of_the_design() -> None:
    document = plan_as_json(plan_memory(wish(), wish("qwen2.5-0.5b", "Q8_0", rows=1), machine(12)))
    assert json.loads(json.dumps(document)) == document
    assert set(document) == {"fits", "unknown", "devices", "max_context"}
    device = document["devices"][1]
    assert set(device) == {"name", "kind", "total", "free", "reserve", "required", "headroom", "parts"}
    assert set(device["parts"]["target"]) == set(device["parts"]["draft"]) == {"weights", "kv", "compute"}
    assert device["required"] == sum(sum(parts.values()) for parts in device["parts"].values())


@pytest.mark.parametrize(("n_ctx", "cells"), [(1, 256), (256, 256), (257, 512), (4096, 4096)])
def test_contexts_are_rounded_up_to_cells(n_ctx: int, cells: int) -> None:
    assert wish(n_ctx=n_ctx).cells == cells
