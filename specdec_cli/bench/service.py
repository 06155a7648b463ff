"""A whole bench: warm up, measure the profile, play the blocks, report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from specdec_cli.bench.foresight import Foresight, best_of_recordings
from specdec_cli.bench.measure import Measured, Progressing, measure, warm_up
from specdec_cli.bench.profile import measure_profile
from specdec_cli.bench.report import BenchReport, make_report
from specdec_cli.bench.rig import Rig
from specdec_cli.bench.rounds import Recording, recordings
from specdec_cli.bench.schedule import make_blocks
from specdec_cli.bench.tasks import prompts_of
from specdec_cli.bench.values import Variant
from specdec_cli.draft.catalog import drafter_kind
from specdec_cli.draft.costs import CostProfile

Announce = Callable[[str], None]


@dataclass(frozen=True)
class BenchPlan:
    """What to measure. `variants[0]` is plain decoding."""

    variants: tuple[Variant, ...]
    tasks: tuple[str, ...]
    runs: int
    """Prompts per task; each is new."""
    max_tokens: int
    first_prompt: int = 0
    profiled: bool = True
    """Whether to measure what rows cost, which the bound with perfect foresight needs."""


def run_bench(
    rig: Rig,
    plan: BenchPlan,
    about: Mapping[str, Any],
    *,
    interrupted: Callable[[], bool] = lambda: False,
    progress: Progressing = lambda _what, _fraction: None,
    announce: Announce = lambda _text: None,
    clock: Callable[[], float] = perf_counter,
) -> BenchReport:
    """Measure and report. Stopped in the middle, it reports what was complete; `KeyboardInterrupt` before that."""
    progress("warming up", None)
    speeds = warm_up(rig, plan.variants, plan.max_tokens, interrupted)
    profile = None
    if plan.profiled and len(plan.variants) > 1:
        progress("measuring what rows cost", None)
        profile = measure_profile(rig, plan.variants[-1].placement, prompts_of(plan.tasks[0])[0], clock)
    blocks = make_blocks(plan.tasks, plan.runs, len(plan.variants), plan.first_prompt)
    seconds = sum(plan.max_tokens / speeds[index] for block in blocks for index in block.order)
    announce(f"{len(blocks)} prompts, {len(plan.variants)} variants: up to about {_duration(seconds)}")
    measured = measure(rig, plan.variants, blocks, plan.max_tokens, interrupted, progress)
    if not measured.samples:
        raise KeyboardInterrupt
    return make_report(
        measured.samples,
        [variant.label for variant in plan.variants],
        about,
        profile=None if profile is None else profile.to_json(),
        foresight={} if profile is None else foresight_by_task(measured, plan.variants, profile),
        interrupted=measured.interrupted,
    )


def foresight_by_task(
    measured: Measured, variants: Sequence[Variant], profile: CostProfile
) -> dict[str, Foresight]:
    """Per task, the bound from the longest drafts of every drafter that drafted by itself, at fixed lengths."""
    recorded = recordings(measured.samples)
    longest = _longest_of_each(variants, recorded)
    if not longest:
        return {}
    step = profile.draft.seconds(1) if profile.draft is not None else 0.0
    steps = {name: step if drafter_kind(name).needs.own_context else 0.0 for name in longest}
    chosen = {variant.label: name for name, variant in longest.items()}
    most = max(variant.draft_max for variant in longest.values())
    bounds = {}
    for task in dict.fromkeys(recording.task for recording in recorded):
        of_task = [recording for recording in recorded if recording.task == task]
        bound = best_of_recordings(of_task, chosen, profile.target.seconds, steps, most)
        if bound is not None:
            bounds[task] = bound
    return bounds


def _longest_of_each(variants: Sequence[Variant], recorded: Sequence[Recording]) -> dict[str, Variant]:
    """Per drafter its variant with the longest drafts; one that passes on others' drafts tells of no drafter."""
    sources: dict[str, set[str]] = {}
    for recording in recorded:
        names = {record.source for record in recording.rounds if record.drafted}
        sources.setdefault(recording.variant, set()).update(names)
    longest: dict[str, Variant] = {}
    for variant in variants:
        name = variant.drafter
        if sources.get(variant.label) == {name} and (
            name not in longest or variant.draft_max > longest[name].draft_max
        ):
            longest[name] = variant
    return longest


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{seconds:.0f} s" if minutes < 2 else f"{minutes:.0f} minutes"
