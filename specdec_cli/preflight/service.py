"""The check itself: compare, plan, predict, and put what each has to say into one report."""

from __future__ import annotations

from dataclasses import dataclass, replace

from specdec_cli.compat import CompatibilityReport, compare
from specdec_cli.compat.architecture import can_roll_back
from specdec_cli.compat.report import worst_first
from specdec_cli.findings import Finding
from specdec_cli.gguf.header import ModelHeader
from specdec_cli.memory.findings import memory_findings
from specdec_cli.memory.plan import MemoryPlan, plan_memory
from specdec_cli.memory.read_shape import read_shape
from specdec_cli.memory.shape import ModelShape
from specdec_cli.memory.wish import ModelWish
from specdec_cli.predict import Prediction, predict, with_measured
from specdec_cli.preflight.measured import with_measured_sizes
from specdec_cli.preflight.report import PreflightReport, PreflightRequest


@dataclass(frozen=True)
class _Wishes:
    """The two models as the memory plan and the prediction see them."""

    target: ModelWish
    draft: ModelWish | None
    """As loaded: without weights when it shares the target's."""
    drafting: ModelWish | None
    """As read while drafting: with all its weights. None when nothing would be drafted with it."""


def preflight(request: PreflightRequest) -> PreflightReport:
    """Check a pair, or a target alone, for a machine. Reads nothing; takes milliseconds."""
    context = _context_size(request)
    compatibility = compare(
        request.target,
        request.draft,
        context=replace(request.target_settings, n_ctx=context),
        draft_max=request.draft_max,
    )
    wishes = _wishes(request, compatibility, context)
    memory, prediction = None, None
    findings = [*request.notes, *compatibility.findings]
    if wishes is not None:
        memory = _plan(request, wishes)
        findings += memory_findings(memory, wishes.target, wishes.draft, request.machine)
        prediction = _speed(request, wishes)
        findings += _no_gain(request, prediction)
    return PreflightReport(
        findings=worst_first(findings),
        compatibility=compatibility,
        context=context,
        machine=request.machine,
        memory=memory,
        prediction=prediction,
    )


def _context_size(request: PreflightRequest) -> int:
    """As when running: the wish, bounded by the target's training unless the user chose it."""
    wish, trained = request.target_settings.n_ctx, request.target.context_length
    return wish if request.explicit_ctx or not trained else min(wish, trained)


def _wishes(request: PreflightRequest, compatibility: CompatibilityReport, context: int) -> _Wishes | None:
    """What would be loaded; None when the target cannot run at all.

    A draft that cannot run, or whose target cannot take tokens back, would not be loaded. One that does not
    match its target is planned for all the same: it may be forced.
    """
    alone = compatibility if request.draft is None else compare(request.target)
    if not alone.compatible or not request.target.has_weights:
        return None
    target = ModelWish(
        read_shape(request.target),
        replace(request.target_settings, n_ctx=context),
        max_rows=request.draft_max + 1 if request.draft is not None else 1,
    )
    draft = request.draft
    if draft is None or not compare(draft).compatible or not can_roll_back(draft):
        return _Wishes(target, None, None)
    if not can_roll_back(request.target):
        return _Wishes(target, None, None)
    settings = replace(request.draft_settings, n_ctx=_draft_context(draft, context))
    drafting = ModelWish(read_shape(draft), settings, max_rows=1)
    loaded = drafting
    if draft.source == request.target.source:
        loaded = replace(drafting, shape=_without_weights(drafting.shape))
    return _Wishes(target, loaded, drafting if compatibility.compatible else None)


def _draft_context(draft: ModelHeader, context: int) -> int:
    return min(context, draft.context_length) if draft.context_length else context


def _without_weights(shape: ModelShape) -> ModelShape:
    """A model whose weights are in memory already: the same file is loaded once."""
    layers = tuple(
        replace(layer, weight_bytes=0, largest_tensor_bytes=0, expert_bytes=0) for layer in shape.layers
    )
    return replace(shape, layers=layers, input_bytes=0, output_bytes=0, tied_bytes=0)


def _plan(request: PreflightRequest, wishes: _Wishes) -> MemoryPlan:
    plan = plan_memory(wishes.target, wishes.draft, request.machine)
    if request.measured_target is None and request.measured_draft is None:
        return plan
    return with_measured_sizes(plan, request.machine, request.measured_target, request.measured_draft)


def _speed(request: PreflightRequest, wishes: _Wishes) -> Prediction | None:
    """Measured as far as it was. A draft that would not be drafted with promises nothing, whatever it once did."""
    predicted = predict(wishes.target, wishes.drafting, request.machine, draft_max=request.draft_max)
    measured = request.measured_speed
    if measured is not None and request.draft is not None and wishes.drafting is None:
        measured = replace(measured, drafting=None)
    return with_measured(predicted, measured)


def _no_gain(request: PreflightRequest, prediction: Prediction | None) -> list[Finding]:
    """Of a pair: without a draft model there is nothing that could be left out."""
    if request.draft is None or prediction is None or prediction.speedup is None or prediction.pays:
        return []
    measured = prediction.speedup_measured
    what = "measured" if measured else "predicted"
    return [
        Finding(
            "warning",
            "hardware.no_gain",
            f"{what} speed is {prediction.speedup.text('.2f')} times that of plain decoding: "
            "speculation hardly pays on this machine",
            hint="a smaller draft, or none; "
            + ("specdec tune looks for faster settings" if measured else "specdec bench measures it"),
        )
    ]
