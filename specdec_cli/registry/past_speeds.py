"""Single measurements of speed, and what several of them come to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from specdec_cli.speeds import MeasuredDrafting, MeasuredSpeed, Span


@dataclass(frozen=True)
class PastRun:
    """One answer."""

    tokens: int
    tokens_per_second: float
    plain_tps: float | None
    """What plain decoding would have done; None where nobody can tell."""
    drafter: str
    speculated: bool
    """Whether anything was drafted."""
    at: datetime
    """With its time zone."""


@dataclass(frozen=True)
class PastBench:
    """One bench."""

    plain_tps: float
    speedup: Span | None
    """Of the default drafter, from the task with the lowest to the one with the highest; None: it took no part."""
    tasks: int
    runs: int
    """Prompts per task."""
    at: datetime
    """With its time zone."""


@dataclass(frozen=True)
class PastSpeeds:
    """All that was measured of a pair, or of a target alone."""

    runs: tuple[PastRun, ...] = ()
    bench: PastBench | None = None


def summarise(own: PastSpeeds, of_target: Sequence[PastSpeeds]) -> MeasuredSpeed | None:
    """What is known of a pair from its `own` measurements and all `of_target`, its own among them.

    None where plain decoding was never measured. Plain decoding is the target's, whatever the draft was, so all
    measurements of the target count for it. A bench, which compares prompt by prompt, goes before runs.
    """
    if own.bench is not None and own.bench.speedup is not None:
        return _of_bench(own.bench, own.bench.speedup)
    drafted = [run for run in own.runs if run.speculated and run.plain_tps is not None]
    benches = [speeds.bench for speeds in of_target if speeds.bench is not None]
    if benches:
        bench = max(benches, key=lambda bench: bench.at)
        both = f"plain in the bench of {_date(bench.at)}, with drafts in {_runs_text(drafted)}"
        drafting = _of_runs(drafted, f"measured here: {both}")
        return MeasuredSpeed(bench.plain_tps, f"measured here: {_bench_text(bench)}", drafting)
    plain = [run for speeds in of_target for run in speeds.runs if run.plain_tps is not None]
    if not plain:
        return None
    which = f", {len(drafted)} of them with drafts" if len(drafted) < len(plain) else ""
    return MeasuredSpeed(
        median(run.plain_tps for run in plain if run.plain_tps is not None),
        f"measured here in {_runs_text(plain)}",
        _of_runs(drafted, f"measured here in {_runs_text(plain, which)}"),
    )


def _of_bench(bench: PastBench, speedup: Span) -> MeasuredSpeed:
    basis = f"measured here: {_bench_text(bench)}"
    speeds = Span(bench.plain_tps * speedup.low, bench.plain_tps * speedup.high)
    return MeasuredSpeed(bench.plain_tps, basis, MeasuredDrafting(speeds, speedup, basis))


def _of_runs(drafted: Sequence[PastRun], basis: str) -> MeasuredDrafting | None:
    if not drafted:
        return None
    speeds = [run.tokens_per_second for run in drafted]
    gains = [run.tokens_per_second / run.plain_tps for run in drafted if run.plain_tps is not None]
    return MeasuredDrafting(Span(min(speeds), max(speeds)), Span(min(gains), max(gains)), basis)


def _bench_text(bench: PastBench) -> str:
    return f"bench of {_date(bench.at)}, {_counted(bench.tasks, 'task')} × {_counted(bench.runs, 'run')}"


def _runs_text(runs: Sequence[PastRun], which: str = "") -> str:
    if not runs:
        return "no run"
    last = _date(max(run.at for run in runs))
    return f"1 run, on {last}" if len(runs) == 1 else f"{len(runs)} runs{which}, the last on {last}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _date(at: datetime) -> str:
    return at.date().isoformat()
