"""Which pair for this machine: what fits, how good its answers are, how fast it is. Pure.

Every pair is tried with each of its targets; the best one stands for it. The score of one
that fits, in doublings of model size:

    quality   log2 of the target's parameters in billions, less 5 · 2^(1 − bits per weight): 0.35 at 4.8 bits,
              0.03 at 8.5. So a model at 4 bits counts like one of 0.8 times its size, and a larger one at 4
              bits beats a smaller one at 8.
    speed     0.5 for each doubling between 10 and 40 tokens per second; below 10, what a person reads, 1.5
              for each halving. Predicted, with the draft where it pays (speculation is never slower).
    purpose   1 for a pair made for the purpose asked for; less 1 for one made for another.

What does not fit comes last, by quality.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from specdec_cli.hardware.values import Machine
from specdec_cli.memory.plan import DevicePlan, MemoryPlan, fits, plan_memory
from specdec_cli.memory.shape import ModelShape
from specdec_cli.memory.wish import ModelWish
from specdec_cli.predict import Prediction, predict
from specdec_cli.registry.catalog import ModelEntry, Pair
from specdec_cli.settings import DEFAULT_CONTEXT, DEFAULT_DRAFT

Use = Literal["code", "chat", "any"]

_READING_SPEED = 10.0
_FAST_ENOUGH = 40.0


@dataclass(frozen=True)
class Candidate:
    """One target and one draft of a pair. A shape is None where nothing is known of the model."""

    pair: Pair
    target: ModelEntry
    draft: ModelEntry
    target_shape: ModelShape | None
    draft_shape: ModelShape | None
    here: bool
    """Whether both are on this machine, or made there without a download."""
    bytes_to_download: int | None
    """None where the catalog does not say."""


@dataclass(frozen=True)
class Recommendation:
    """One pair, judged for one machine."""

    candidate: Candidate
    n_ctx: int
    fits: bool | None
    """None when it cannot be told."""
    tightest: DevicePlan | None
    """The device with the least headroom."""
    prediction: Prediction | None
    score: float
    why: str
    """In a few words."""

    @property
    def reference(self) -> str:
        """`name`, or `name:QUANT` where the recommended target is not the pair's default."""
        pair, target = self.candidate.pair, self.candidate.target
        return pair.name if target == pair.target or not target.quant else f"{pair.name}:{target.quant}"

    @property
    def tokens_per_second(self) -> float | None:
        """What to expect: the middle of the predicted range, or plain decoding where that is faster."""
        return None if self.prediction is None else _expected_speed(self.prediction)


def rank(
    candidates: Iterable[Candidate],
    machine: Machine,
    *,
    use: Use = "any",
    n_ctx: int | None = None,
    draft_max: int = DEFAULT_DRAFT.draft_max,
) -> tuple[Recommendation, ...]:
    """The best of each pair's candidates, best pair first; the first one's `why` compares it with the others.

    `n_ctx` is the context that is needed; None takes the usual one, or what a target was trained on if less.
    """
    best: dict[str, Recommendation] = {}
    for candidate in candidates:
        judged = _judge(candidate, machine, use, n_ctx, draft_max)
        held = best.get(candidate.pair.name)
        if held is None or _order(judged) > _order(held):
            best[candidate.pair.name] = judged
    ranked = [_with_plan(judged, machine, n_ctx, draft_max) for judged in best.values()]
    ranked.sort(key=_order, reverse=True)
    if ranked and ranked[0].fits:
        ranked[0] = replace(ranked[0], why=_why_first(ranked))
    return tuple(ranked)


def _order(recommendation: Recommendation) -> tuple[int, float]:
    return {True: 2, None: 1, False: 0}[recommendation.fits], recommendation.score


def _judge(
    candidate: Candidate, machine: Machine, use: Use, n_ctx: int | None, draft_max: int
) -> Recommendation:
    """Whether it fits, how fast it is, and its score; the plan itself is made for the best of a pair only."""
    wishes = wishes_for(candidate.target_shape, candidate.draft_shape, n_ctx, draft_max)
    fits_here, prediction = _fits_by_size(candidate, machine), None
    context = n_ctx or DEFAULT_CONTEXT.n_ctx
    if wishes is not None:
        context = wishes[0].settings.n_ctx
        prediction = predict(*wishes, machine, draft_max=draft_max)
        fits_here = n_ctx in (None, context) and fits(*wishes, machine)
        if fits_here and any(wish.shape.unknown for wish in wishes):
            fits_here = None
    return Recommendation(
        candidate=candidate,
        n_ctx=context,
        fits=fits_here,
        tightest=None,
        prediction=prediction,
        score=_score(candidate, prediction, use),
        why="",
    )


def _fits_by_size(candidate: Candidate, machine: Machine) -> bool | None:
    """For models of unknown dimensions: False when their files alone are too large, else unknown."""
    size = (candidate.target.bytes or 0) + (candidate.draft.bytes or 0)
    room = max(device.usable for device in machine.gpus or (machine.host,))
    return False if size > room else None


def _with_plan(judged: Recommendation, machine: Machine, n_ctx: int | None, draft_max: int) -> Recommendation:
    wishes = wishes_for(judged.candidate.target_shape, judged.candidate.draft_shape, n_ctx, draft_max)
    plan = None if wishes is None else plan_memory(*wishes, machine)
    tightest = min(plan.devices, key=lambda device: device.headroom) if plan is not None else None
    with_tightest = replace(judged, tightest=tightest)
    return replace(with_tightest, why=_why(with_tightest, plan, n_ctx))


def wishes_for(
    target: ModelShape | None,
    draft: ModelShape | None,
    n_ctx: int | None = None,
    draft_max: int = DEFAULT_DRAFT.draft_max,
) -> tuple[ModelWish, ModelWish] | None:
    """Both models as `run` would make their contexts; None where one is not known."""
    if target is None or draft is None:
        return None
    wanted = n_ctx or DEFAULT_CONTEXT.n_ctx
    context = min(wanted, target.context_length or wanted)
    settings = replace(DEFAULT_CONTEXT, n_ctx=context)
    draft_settings = replace(settings, n_ctx=min(context, draft.context_length or context))
    return ModelWish(target, settings, max_rows=draft_max + 1), ModelWish(draft, draft_settings)


def _score(candidate: Candidate, prediction: Prediction | None, use: Use) -> float:
    score = quality(candidate)
    if prediction is not None:
        score += _value_of_speed(_expected_speed(prediction))
    if use != "any" and candidate.pair.use:
        score += 1.0 if use in candidate.pair.use else -1.0
    return score


def quality(candidate: Candidate) -> float:
    """How good the target's answers are, in doublings of size from one billion parameters."""
    shape = candidate.target_shape
    parameters = candidate.target.parameters or (shape.parameters if shape is not None else 0)
    if not parameters:
        return 0.0
    size = candidate.target.bytes or (shape.weight_bytes if shape is not None else 0)
    bits = size * 8 / parameters if size else 4.8
    return math.log2(parameters / 1e9) - 5 * 2 ** (1 - bits)


def _value_of_speed(tokens_per_second: float) -> float:
    doublings = math.log2(max(tokens_per_second, 0.01) / _READING_SPEED)
    most = math.log2(_FAST_ENOUGH / _READING_SPEED)
    return 1.5 * doublings if doublings < 0 else 0.5 * min(doublings, most)


def _expected_speed(prediction: Prediction) -> float:
    spread = prediction.speculative_tps
    middle = math.sqrt(spread.low * spread.high) if spread is not None else 0.0
    return max(prediction.plain_tps, middle)


# saying why -------------------------------------------------------------------------------------------


def _why(recommendation: Recommendation, plan: MemoryPlan | None, n_ctx: int | None) -> str:
    if plan is None and recommendation.fits is False:
        return "its files alone are too large"
    if plan is None:
        return "not known without its header: specdec check"
    if n_ctx is not None and recommendation.n_ctx < n_ctx:
        return f"trained on {recommendation.n_ctx} tokens only"
    tightest = recommendation.tightest
    if recommendation.fits is None or tightest is None:
        return plan.unknown or "how much memory it takes is not known"
    space = f"{_gib(tightest.required)} of {_gib(tightest.device.usable)} GiB on {tightest.device.name}"
    if not recommendation.fits:
        return f"needs {space}"
    speed = recommendation.tokens_per_second
    return f"{space}, about {speed:.0f} tok/s" if speed is not None else space


def _why_first(ranked: Sequence[Recommendation]) -> str:
    first = ranked[0]
    fitting = [other for other in ranked if other.fits]
    larger = [other for other in fitting if _parameters(other) > 1.05 * _parameters(first)]
    reasons = []
    if first.candidate.pair.use and len(first.candidate.pair.use) == 1:
        reasons.append(f"made for {first.candidate.pair.use[0]}")
    if not larger:
        reasons.append(
            "the largest target that fits" if len(fitting) < len(ranked) else "the largest target there is"
        )
    else:
        other = max(larger, key=_parameters)
        speed = other.tokens_per_second
        slower = (
            f"is larger, but at about {speed:.0f} tok/s" if speed is not None else "is larger, but slower"
        )
        reasons.append(f"{other.candidate.pair.name} {slower}")
    return f"{first.why}; " + "; ".join(reasons)


def _parameters(recommendation: Recommendation) -> int:
    return recommendation.candidate.target.parameters or 0


def _gib(count: int) -> str:
    return f"{count / 2**30:.1f}"
