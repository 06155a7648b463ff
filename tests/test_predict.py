"""The predictor against what others measured, and the laws it must keep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_cli.hardware.machine_file import load_machine
from specdec_cli.hardware.values import GIB, Device, Machine
from specdec_cli.memory.shape import LayerShape
from specdec_cli.memory.wish import ModelWish
from specdec_cli.predict import Prediction, pass_seconds, predict, with_measured
from specdec_cli.settings import ContextSettings
from specdec_cli.speeds import MeasuredDrafting, MeasuredSpeed, Span
from tests.support.model_shapes import dense_shape

M4_MAX = Machine(
    "M4 Max",
    (Device("Metal", "unified", 96 * GIB, 96 * GIB, GIB, 546e9, 18e12),),
    16,
    12,
    16.0,
    128 * GIB,
    96 * GIB,
)
TWO_CORES = Machine(
    "two quiet cores", (Device("CPU", "cpu", 24 * GIB, 24 * GIB, GIB, 26e9, 220e9),), 2, 2, 2.0, 24 * GIB, 24 * GIB,
    bandwidth_measured=True,
)  # fmt: skip


def wish(model: str, quantization: str, **changes: Any) -> ModelWish:
    return ModelWish(dense_shape(model, quantization), ContextSettings(**changes))


def known(prediction: Prediction | None) -> Prediction:
    assert prediction is not None
    assert prediction.speedup is not None
    assert prediction.speculative_tps is not None
    return prediction


M4_MAX_ROWS = [
    ("qwen2.5-7b", "F16", 33.6, 2.93),
    ("qwen2.5-7b", "Q8_0", 58.7, 1.80),
    ("qwen2.5-7b", "Q4_K_M", 88.4, 1.14),
    ("qwen2.5-14b", "Q8_0", 30.0, 2.23),
    ("qwen2.5-32b", "Q4_K_M", 20.7, 1.60),
    ("qwen2.5-72b", "Q4_K_M", 9.4, 2.00),
]


def on_m4_max(model: str, quantization: str, draft_max: int) -> Prediction:
    target, draft = wish(model, quantization), wish("qwen2.5-0.5b", "Q8_0")
    return known(predict(target, draft, M4_MAX, draft_max=draft_max))


@pytest.mark.parametrize(("model", "quantization", "plain", "speedup"), M4_MAX_ROWS)
def test_m4_max(model: str, quantization: str, plain: float, speedup: float) -> None:
    prediction = on_m4_max(model, quantization, draft_max=8)
    assert prediction.plain_tps == pytest.approx(plain, rel=0.25)
    assert prediction.pays
    assert prediction.speedup is not None
    assert prediction.speedup.low <= speedup <= prediction.speedup.high


def test_m4_max_with_the_default_draft_length_places_at_least_five() -> None:
    spans = [(on_m4_max(model, quant, 4).speedup, speedup) for model, quant, _, speedup in M4_MAX_ROWS]
    assert sum(span is not None and span.low <= speedup <= span.high for span, speedup in spans) >= 5


@pytest.mark.parametrize("draft_max", [3, 4, 8, 16])
def test_gemma_on_the_24_gb_laptop(draft_max: int) -> None:
    target, draft = wish("gemma3-12b", "Q8_0"), wish("gemma3-1b", "Q8_0")
    prediction = known(predict(target, draft, load_machine("apple-24gb"), draft_max=draft_max))
    assert prediction.plain_tps == pytest.approx(9, rel=0.25)
    assert prediction.speculative_tps is not None
    assert prediction.speculative_tps.low <= 11 <= prediction.speculative_tps.high


@pytest.mark.parametrize(
    ("machine", "target", "draft", "plain", "speculative"),
    [
        ("nvidia-24gb", ("qwen2.5-32b", "Q4_K_M"), ("qwen2.5-0.5b", "Q8_0"), 34, (107, 58)),
        ("nvidia-12gb", ("llama3.1-8b", "Q8_0"), ("llama3.2-1b", "Q8_0"), 32.5, (55.5,)),
    ],
)
def test_nvidia_cards(
    machine: str,
    target: tuple[str, str],
    draft: tuple[str, str],
    plain: float,
    speculative: tuple[float, ...],
) -> None:
    prediction = known(predict(wish(*target), wish(*draft), load_machine(machine), draft_max=8))
    assert prediction.plain_tps == pytest.approx(plain, rel=0.25)
    assert prediction.speculative_tps is not None
    for measured in speculative:
        assert prediction.speculative_tps.low <= measured <= prediction.speculative_tps.high


# quantization, ms for 1, 2, 4, 8 and 16 rows on two quiet cores
SMOLLM2_CURVES = [
    ("F32", (20.8, 25.0, 31.2, 41.6, 60.3)),
    ("F16", (12.7, 22.9, 20.3, 27.9, 45.7)),
    ("Q8_0", (6.9, 14.5, 17.9, 26.2, 40.7)),
    ("Q4_1", (7.3, 13.1, 19.7, 32.1, 58.4)),
    ("Q4_0", (4.3, 7.7, 11.2, 18.1, 26.2)),
]


@pytest.mark.parametrize(("quantization", "milliseconds"), SMOLLM2_CURVES)
def test_verification_cost_on_a_cpu(quantization: str, milliseconds: tuple[float, ...]) -> None:
    for rows, measured in zip((1, 2, 4, 8, 16), milliseconds, strict=True):
        seconds = pass_seconds(wish("smollm2-135m", quantization), TWO_CORES, rows=rows, depth=32)
        assert seconds is not None
        assert seconds * 1e3 == pytest.approx(measured, rel=0.25)


def test_a_pair_that_loses_on_a_cpu_is_told() -> None:
    """llama.cpp's own tool: F16 with a Q4_0 draft is slower than plain at every length (0.76 to 0.60)."""
    target, draft = wish("smollm2-135m", "F16"), wish("smollm2-135m", "Q4_0")
    prediction = known(predict(target, draft, TWO_CORES, draft_max=4, depth=32))
    assert not prediction.pays
    assert prediction.speedup is not None
    assert prediction.speedup.low < 0.76


def test_a_mixture_of_experts_gains_less_than_a_dense_model_of_its_speed() -> None:
    dense = dense_shape("qwen2.5-14b", "Q4_K_M")
    experts = tuple(
        LayerShape(
            weight_bytes=layer.weight_bytes * 8, expert_bytes=layer.weight_bytes * 8 - layer.weight_bytes // 10,
            heads=40, kv_heads=8, key_length=128, value_length=128, feed_forward=layer.feed_forward,
        )
        for layer in dense.layers
    )  # fmt: skip
    mixture = replace(dense, layers=experts, n_experts=64, experts_used=8, parameters=dense.parameters * 8)
    draft = wish("qwen2.5-0.5b", "Q8_0")
    spans = [
        known(predict(ModelWish(shape, ContextSettings()), draft, M4_MAX, draft_max=4)).speedup
        for shape in (dense, mixture)
    ]
    assert spans[0] is not None
    assert spans[1] is not None
    assert spans[1].high < 0.8 * spans[0].high


def test_layers_in_system_memory_set_the_pace() -> None:
    machine = load_machine("nvidia-12gb")
    all_on_gpu = predict(wish("llama3.1-8b", "Q8_0"), None, machine, draft_max=4)
    half = predict(wish("llama3.1-8b", "Q8_0", gpu_layers=16), None, machine, draft_max=4)
    assert all_on_gpu is not None
    assert half is not None
    assert half.plain_tps < all_on_gpu.plain_tps / 3
    assert "CPU" in half.basis


def test_a_long_text_is_slower() -> None:
    target = wish("llama3.1-8b", "Q4_K_M", n_ctx=32768)
    short, long = (predict(target, None, M4_MAX, draft_max=4, depth=depth) for depth in (100, 30000))
    assert short is not None
    assert long is not None
    assert long.plain_tps < 0.7 * short.plain_tps


def test_without_a_draft_there_is_no_speedup() -> None:
    prediction = predict(wish("qwen2.5-7b", "Q8_0"), None, M4_MAX, draft_max=4)
    assert prediction is not None
    assert prediction.speedup is None
    assert not prediction.pays


@pytest.mark.parametrize("unknown", [{"bandwidth": None}, {"compute": None}])
def test_a_device_without_rates_gets_no_prediction(unknown: dict[str, None]) -> None:
    machine = replace(M4_MAX, devices=(replace(M4_MAX.devices[0], **unknown),))  # type: ignore[arg-type]
    assert predict(wish("qwen2.5-7b", "Q8_0"), None, machine, draft_max=4) is None


def test_an_unknown_model_gets_no_prediction() -> None:
    shape = replace(dense_shape("qwen2.5-7b"), unknown="who knows")
    assert predict(ModelWish(shape, ContextSettings()), None, M4_MAX, draft_max=4) is None


@given(
    bandwidth=st.floats(5e9, 4e12),
    compute=st.floats(5e10, 1e15),
    draft_max=st.integers(1, 16),
    target=st.sampled_from(["llama3.1-8b", "gemma3-12b", "qwen2.5-72b"]),
    quantization=st.sampled_from(["F16", "Q8_0", "Q4_K_M"]),
)
@settings(max_examples=80, deadline=None)
def test_laws(bandwidth: float, compute: float, draft_max: int, target: str, quantization: str) -> None:
    device = Device("X", "unified", 512 * GIB, 512 * GIB, 0, bandwidth, compute)
    machine = Machine("x", (device,), 8, 8, 8.0, 512 * GIB, 512 * GIB)
    prediction = known(
        predict(wish(target, quantization), wish("llama3.2-1b", "Q8_0"), machine, draft_max=draft_max)
    )
    speedup, speculative = prediction.speedup, prediction.speculative_tps
    assert speedup is not None
    assert speculative is not None
    assert 0 < speedup.low <= speedup.high <= 2 * speedup.low * (1 + 1e-9)
    assert speculative.low == pytest.approx(speedup.low * prediction.plain_tps)
    assert 1 <= prediction.draft_length <= draft_max
    slower = replace(machine, devices=(replace(device, bandwidth=bandwidth / 2),))
    halved = predict(wish(target, quantization), None, slower, draft_max=draft_max)
    assert halved is not None
    assert halved.plain_tps < prediction.plain_tps


PREDICTED = Prediction(10.0, Span(9.0, 18.0), Span(0.9, 1.8), "estimated from a chip", draft_length=4)
DRAFTING = MeasuredDrafting(Span(30.0, 44.0), Span(1.5, 2.0), "measured here in 4 runs")


def test_without_measurements_the_prediction_stays() -> None:
    assert with_measured(PREDICTED, None) is PREDICTED
    assert with_measured(None, None) is None
    assert not PREDICTED.measured


@pytest.mark.parametrize("predicted", [PREDICTED, None])
def test_measured_figures_replace_all_that_was_predicted(predicted: Prediction | None) -> None:
    result = known(with_measured(predicted, MeasuredSpeed(21.0, "measured here in 5 runs", DRAFTING)))
    assert (result.plain_tps, result.speculative_tps, result.speedup) == (
        21.0,
        Span(30.0, 44.0),
        Span(1.5, 2.0),
    )
    assert result.basis == "measured here in 4 runs"
    assert result.measured
    assert result.speedup_measured


def test_where_only_plain_decoding_was_measured_the_speedup_is_still_predicted() -> None:
    result = known(with_measured(PREDICTED, MeasuredSpeed(20.0, "measured here in 2 runs")))
    assert result.plain_tps == 20.0
    assert result.speedup == PREDICTED.speedup
    assert result.speculative_tps == Span(18.0, 36.0)
    assert result.basis == "plain measured here in 2 runs; speed-up estimated from a chip"
    assert result.measured
    assert not result.speedup_measured


def test_a_measured_target_needs_no_known_chip() -> None:
    result = with_measured(None, MeasuredSpeed(20.0, "measured here in 2 runs"))
    assert result == Prediction(20.0, None, None, "measured here in 2 runs", measured=True)
