"""How fast a pair will be, before it is loaded: a small physical model, and honest about its range.

One forward pass over n rows takes

    read      bytes of the weights and of the cache ÷ sustained bandwidth      once, however many rows
    compute   n × 2 × parameters × unpacking ÷ sustained operations            for every row again
    overhead  layers × a constant                                              once
    several   on a CPU, part of a one-row pass once more as soon as n > 1: the one-row kernels are better

Plain decoding is n = 1. A round of speculation drafts k tokens (k passes of the draft, n = 1) and verifies them
(one pass of the target, n = k + 1); at acceptance a it yields 1 + a + … + a^k tokens. k is the best length for
ordinary text. The range is the span of acceptance that ordinary pairs show.

A mixture of experts reads only the chosen experts for one row, but other ones for the next: n rows read all
but (1 − used/experts)^n of them, which is why speculation seldom pays there.

Where it is weak: kernels do not cost in proportion to rows (they have steps, and special cases); acceptance is
unknown before the first run, and code, prose and poetry differ more than models do; a machine that is hot or busy
is slower than its data sheet; its constants come from ten published measurements and two models timed on AVX2,
and none of them was held back for a test. Measured figures replace it as soon as there are any: `with_measured`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from specdec_cli.hardware.values import Device, DeviceKind, Machine
from specdec_cli.memory.cache import row_bytes
from specdec_cli.memory.placement import place
from specdec_cli.memory.shape import LayerShape, ModelShape
from specdec_cli.memory.wish import ModelWish
from specdec_cli.speeds import MeasuredSpeed, Span

_SUSTAINED_BANDWIDTH = 0.85
"""Part of the data-sheet bandwidth that llama.cpp's matrix–vector kernels reach (half-precision models, which
unpack nothing, show it: 0.82 to 0.90 on Apple and NVIDIA). A bandwidth measured here is already a reached one."""

_SUSTAINED_COMPUTE = 0.5
"""Part of the peak operations that kernels for few rows reach."""

_LAYER_SECONDS: dict[DeviceKind, float] = {"cpu": 15e-6, "gpu": 40e-6, "unified": 40e-6}
"""Per layer and pass: starting about thirty kernels, or meeting at as many barriers."""

_SEVERAL_ROWS = 0.35
"""On a CPU, what leaving the one-row kernels costs, in one-row passes (SmolLM2 and Gemma on AVX2; F32: none)."""

_UNPACKING: dict[str, tuple[float, float]] = {
    "F32": (1.0, 1.0),
    "F16": (1.0, 0.85),
    "BF16": (1.0, 1.0),
    "Q8_0": (1.5, 0.85),
    "Q4_0": (1.5, 0.6),
    "Q4_1": (1.5, 1.3),
    "Q5_0": (1.6, 1.3),
    "Q5_1": (1.6, 1.3),
    "MXFP4": (1.5, 0.8),
}
_UNPACKING_K = (1.7, 0.85)
"""(GPU, CPU) cost of one multiply-add with a weight of this type, unpacking included, relative to F16 on a GPU
and F32 on a CPU. GPU: from measured verification costs on Apple chips; CPU: SmolLM2 and Gemma on AVX2. K-quants
(and everything not listed) take the last line."""

TYPICAL_ACCEPTANCE = 0.80
ACCEPTANCE_RANGE = (0.45, 0.92)
"""Prose with an unsuited draft, and code with a good one; tokens accepted of those drafted, each by itself."""

_WIDEST = 2.0
"""The high end is at most so many times the low one. Where text varies more than that, the policy shortens
drafts before the low end is reached, so the low end is raised."""

_DEFAULT_DEPTH = 1024


@dataclass(frozen=True)
class Prediction:
    """Tokens per second, and where they come from."""

    plain_tps: float
    speculative_tps: Span | None
    """None without a draft, unless drafts without one were measured."""
    speedup: Span | None
    basis: str
    draft_length: int = 0
    """The length that predicted figures are for."""
    measured: bool = False
    """Whether `plain_tps` was measured on this machine."""
    speedup_measured: bool = False
    """Whether `speedup` and `speculative_tps` were."""

    @property
    def pays(self) -> bool:
        """Whether speculation gains more often than it loses."""
        return self.speedup is not None and self.speedup.low * self.speedup.high > 1.0


def predict(
    target: ModelWish,
    draft: ModelWish | None,
    machine: Machine,
    *,
    draft_max: int,
    depth: int | None = None,
) -> Prediction | None:
    """Predict for a pair on a machine.

    `depth` is how many tokens of context lie in the cache (default: 1024, or half the context if that is less).
    None when the machine's rates or a model's layers are unknown.
    """
    depth = min(_DEFAULT_DEPTH, target.settings.n_ctx // 2) if depth is None else depth
    plain = pass_seconds(target, machine, rows=1, depth=depth)
    if plain is None:
        return None
    rates = _describe_rates(target, machine)
    step = None if draft is None else pass_seconds(draft, machine, rows=1, depth=depth)
    if step is None:
        return Prediction(1 / plain, None, None, f"estimated from {rates}, {depth} tokens deep")
    verify = [
        pass_seconds(target, machine, rows=length + 1, depth=depth) or plain
        for length in range(draft_max + 1)
    ]

    def speedup(acceptance: float, length: int) -> float:
        return _tokens_per_round(acceptance, length) * plain / (length * step + verify[length])

    best = max(range(1, draft_max + 1), key=lambda length: speedup(TYPICAL_ACCEPTANCE, length))
    low, high = (speedup(acceptance, best) for acceptance in ACCEPTANCE_RANGE)
    low = max(low, high / _WIDEST)
    least, most = ACCEPTANCE_RANGE
    return Prediction(
        plain_tps=1 / plain,
        speculative_tps=Span(low / plain, high / plain),
        speedup=Span(low, high),
        basis=f"estimated from {rates}, {depth} tokens deep, drafts of {best}, {least:.0%} to {most:.0%} accepted",
        draft_length=best,
    )


def with_measured(predicted: Prediction | None, measured: MeasuredSpeed | None) -> Prediction | None:
    """Measured figures where there are any. Where only plain decoding was measured, the speed-up stays predicted,
    and the tokens per second follow from both."""
    if measured is None:
        return predicted
    plain, drafting = measured.plain_tps, measured.drafting
    if drafting is not None:
        return Prediction(
            plain,
            drafting.tokens_per_second,
            drafting.speedup,
            drafting.basis,
            measured=True,
            speedup_measured=True,
        )
    speedup = None if predicted is None else predicted.speedup
    if predicted is None or speedup is None:
        return Prediction(plain, None, None, measured.basis, measured=True)
    return replace(
        predicted,
        plain_tps=plain,
        speculative_tps=Span(plain * speedup.low, plain * speedup.high),
        basis=f"plain {measured.basis}; speed-up {predicted.basis}",
        measured=True,
    )


def pass_seconds(wish: ModelWish, machine: Machine, *, rows: int, depth: int) -> float | None:
    """Seconds of one forward pass over `rows` tokens. None when it cannot be told."""
    if wish.shape.unknown or not wish.shape.weight_bytes:
        return None
    placement = place(wish, machine)
    seconds = 0.0
    for index, device in enumerate(machine.devices):
        layers = [
            layer
            for layer, where in zip(wish.shape.layers, placement.layer_devices, strict=False)
            if where == index
        ]
        has_output = placement.layer_devices[-1] == index
        if not layers and not has_output:
            continue
        here = _seconds_on(device, machine, wish, layers, has_output=has_output, rows=rows, depth=depth)
        if here is None:
            return None
        seconds += here
    return seconds


def _seconds_on(
    device: Device,
    machine: Machine,
    wish: ModelWish,
    layers: list[LayerShape],
    *,
    has_output: bool,
    rows: int,
    depth: int,
) -> float | None:
    if not device.bandwidth or not device.compute:
        return None
    shape = wish.shape
    weights = sum(_weights_read(layer, shape, rows) for layer in layers)
    used = sum(_weights_read(layer, shape, 1) for layer in layers)
    if has_output:
        weights += shape.output_bytes + shape.tied_bytes
        used += shape.output_bytes + shape.tied_bytes
    cached = sum(_cache_read(layer, wish, depth) for layer in layers)
    measured = device.kind == "cpu" and machine.bandwidth_measured
    bandwidth = device.bandwidth * (1.0 if measured else _SUSTAINED_BANDWIDTH)
    parameters = shape.parameters * used / shape.weight_bytes
    operations = 2 * parameters * _UNPACKING.get(shape.quantization, _UNPACKING_K)[device.kind == "cpu"]
    compute = operations / (device.compute * _SUSTAINED_COMPUTE)
    read = (weights + cached) / bandwidth
    seconds = read + rows * compute + len(layers) * _LAYER_SECONDS[device.kind]
    if rows > 1 and device.kind == "cpu" and shape.quantization != "F32":
        seconds += _SEVERAL_ROWS * (read + compute)
    return seconds


def _weights_read(layer: LayerShape, shape: ModelShape, rows: int) -> float:
    """Bytes of a layer that a pass over so many rows reads: all, or the experts that some row chooses."""
    if not layer.expert_bytes or not shape.n_experts:
        return layer.weight_bytes
    chosen = 1 - (1 - min(1.0, shape.experts_used / shape.n_experts)) ** rows
    return layer.weight_bytes - layer.expert_bytes * (1 - chosen)


def _cache_read(layer: LayerShape, wish: ModelWish, depth: int) -> float:
    positions = min(depth, layer.window) if layer.window else depth
    kv_type = wish.settings.kv_type
    row = row_bytes(layer.key_width, kv_type) + row_bytes(layer.value_width, kv_type) if layer.kv_heads else 0
    return positions * row + layer.state_bytes


def _tokens_per_round(acceptance: float, length: int) -> float:
    """Expected tokens: those accepted, one after the other, and the target's own (Leviathan et al., 2023)."""
    return float(sum(acceptance**position for position in range(length + 1)))


def _describe_rates(wish: ModelWish, machine: Machine) -> str:
    used = set(place(wish, machine).layer_devices)
    rates = [
        f"{device.name} at {(device.bandwidth or 0) / 1e9:.0f} GB/s"
        for index, device in enumerate(machine.devices)
        if index in used
    ]
    return " and ".join(rates) + (" (measured)" if machine.bandwidth_measured else "")
