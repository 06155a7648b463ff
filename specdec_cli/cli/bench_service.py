"""What `specdec bench` does once its options are values: models, rig, measurement, report."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import median
from typing import Any

from specdec_cli import __version__
from specdec_cli.bench.document import SCHEMA, bench_document
from specdec_cli.bench.page import bench_page
from specdec_cli.bench.profile import draft_steps, measure_profile, profile_rows
from specdec_cli.bench.report import BenchReport
from specdec_cli.bench.rig import Rig
from specdec_cli.bench.rounds import recordings, write_rounds
from specdec_cli.bench.service import BenchPlan, run_bench
from specdec_cli.bench.tasks import prompts_of
from specdec_cli.bench.values import Placement
from specdec_cli.bench.variants import PLAIN_LABEL, make_variants
from specdec_cli.cli.bench_options import STDOUT, BenchOptions, write_file
from specdec_cli.cli.environment import Environment
from specdec_cli.cli.exit_codes import EXIT_INTERRUPTED
from specdec_cli.cli.interrupt import Interruption, listening_for_interrupt
from specdec_cli.cli.models import ChosenModel, ChosenModels, choose_models
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.cli.run_preflight import findings_to_show, machine_to_run_on, preflight_models
from specdec_cli.cli.speed_records import speed_key
from specdec_cli.documents import model_document
from specdec_cli.draft.catalog import drafter_kind
from specdec_cli.errors import SpecdecError, UsageProblem
from specdec_cli.hardware.threads import default_threads
from specdec_cli.protocols import Backend
from specdec_cli.registry.folders import cache_dir
from specdec_cli.registry.measured_speeds import SpeedKey, record_bench
from specdec_cli.registry.past_speeds import PastBench
from specdec_cli.settings import DEFAULT_DRAFT
from specdec_cli.speeds import Span
from specdec_cli.ui.bench_view import print_bench
from specdec_cli.ui.console import Printer
from specdec_cli.ui.profile_view import print_profile


@dataclass(frozen=True)
class Stage:
    """Everything that a measurement needs, made ready: files chosen and checked, nothing loaded yet."""

    backend: Backend
    printer: Printer
    models: ChosenModels
    placement: Placement
    interruption: Interruption
    clock: Callable[[], float]


@contextmanager
def stage(
    environment: Environment, options: EngineOptions, printer: Printer, *, force: bool
) -> Iterator[Stage]:
    """Choose the models and check them, as `run` does. Raises `SpecdecError` with what stands against them."""
    backend = environment.open_backend()
    with listening_for_interrupt() as interruption:
        models = choose_models(options, backend, printer)
        report = preflight_models(options, models, backend)
        refusal = report.refusal(force=force)
        if refusal is not None:
            raise refusal
        for finding in findings_to_show(report, verbose=False):
            printer.finding(finding)
        placement = placement_of(options, models)
        yield Stage(backend, printer, models, placement, interruption, environment.clock)


def run_bench_command(environment: Environment, options: EngineOptions, bench: BenchOptions) -> int:
    """Measure and print; returns the exit code: 1 when an answer differs from plain decoding's."""
    printer = Printer(environment.stderr, quiet=bench.quiet)
    options = _models_needed(options, bench)
    with stage(environment, options, printer, force=bench.force) as ready:
        if bench.profile:
            return _profile(environment, ready, bench)
        choices = bench.choices(has_draft=ready.models.draft is not None)
        variants = make_variants(choices, ready.placement, options.draft_max)
        plan = BenchPlan(variants, bench.task_names, bench.run_count, bench.token_count)
        about = {
            **about_document(ready, {"runs": plan.runs, "max_tokens": plan.max_tokens}),
            "draft_max": {variant.label: variant.draft_max for variant in variants[1:]},
        }
        with open_rig(ready, max(variant.draft_max for variant in variants)) as (rig, progress):
            report = run_bench(
                rig,
                plan,
                about,
                interrupted=ready.interruption,
                progress=progress,
                announce=lambda text: printer.line(text, "dim"),
                clock=ready.clock,
            )
    placement, machine = ready.placement, machine_to_run_on(ready.backend)
    _remember_speed(speed_key(options, placement.target, placement.draft, machine), report, plan)
    _give_out(environment, report, bench)
    if report.interrupted:
        return EXIT_INTERRUPTED
    return 0 if report.lossless else SpecdecError.exit_code


@contextmanager
def open_rig(ready: Stage, draft_max: int) -> Iterator[tuple[Rig, Callable[[str, float | None], None]]]:
    """The rig, and a progress line to go with it; everything native is freed at the end."""
    with ready.printer.progress() as progress:

        def loading(what: str, fraction: float) -> bool:
            progress(what, fraction)
            return not ready.interruption()

        rig = Rig(
            ready.backend, draft_max, profiles=cache_dir() / "profiles", loading=loading, clock=ready.clock
        )
        try:
            yield rig, progress
        finally:
            rig.close()


def placement_of(options: EngineOptions, models: ChosenModels) -> Placement:
    """Files and settings as `specdec run` would use them."""
    target_settings, draft_settings = options.context_settings(default_threads())
    return Placement(
        target=models.target.path,
        draft=models.draft.path if models.draft is not None else None,
        target_settings=target_settings,
        draft_settings=draft_settings,
        explicit_ctx=options.ctx is not None,
    )


def about_document(ready: Stage, amounts: dict[str, Any]) -> dict[str, Any]:
    """What was run on what: the head of every report."""
    settings = ready.placement.target_settings
    return {
        "specdec": __version__,
        "measured_at": datetime.now().astimezone().isoformat(timespec="minutes"),
        "target": _model(ready.models.target),
        "draft": None if ready.models.draft is None else _model(ready.models.draft),
        "engine": {"llama_cpp_python": ready.backend.version, "backend": ready.backend.name},
        "settings": {
            **amounts,
            "threads": settings.threads,
            "draft_threads": ready.placement.draft_settings.threads,
            "gpu_layers": settings.gpu_layers,
            "kv_type": settings.kv_type,
            "flash_attention": settings.flash_attention,
        },
    }


def _models_needed(options: EngineOptions, bench: BenchOptions) -> EngineOptions:
    """Without the draft where no drafter asked for uses one."""
    if bench.drafters is None:
        return options
    has_draft = options.pair is not None or options.draft is not None
    choices = bench.choices(has_draft=has_draft)
    if any(drafter_kind(choice.drafter).uses_draft_model for choice in choices):
        return options
    for name, value in (("--draft", options.draft), ("--draft-threads", options.draft_threads)):
        if value is not None:
            raise UsageProblem(f"--drafters {bench.drafters} uses no draft model, so {name} has no use")
    return replace(options, drafter=choices[0].drafter)


def _model(model: ChosenModel) -> dict[str, Any]:
    return model_document(model.path, model.name, model.quant, model.header.weight_bytes)


def _profile(environment: Environment, ready: Stage, bench: BenchOptions) -> int:
    with open_rig(ready, _PROFILE_DRAFT) as (rig, progress):
        progress("measuring what rows cost", None)
        profile = measure_profile(rig, ready.placement, prompts_of(bench.task_names[0])[0], ready.clock)
    document = {"schema": SCHEMA, **about_document(ready, {}), "profile": profile.to_json()}
    if bench.json != STDOUT:
        print_profile(profile_rows(profile), draft_steps(profile), profile.depth, environment.stdout)
    _write_json(environment, document, bench)
    return 0


_PROFILE_DRAFT = 32
"""`--profile` measures up to drafts of this length."""


def _give_out(environment: Environment, report: BenchReport, bench: BenchOptions) -> None:
    """The table first, so that a full disk loses nothing."""
    if bench.json != STDOUT:
        print_bench(report, environment.stdout)
        environment.stdout.flush()
    _write_json(environment, bench_document(report), bench)
    if bench.html is not None:
        write_file(bench.html, bench_page(report))
    if bench.rounds is not None:
        lines = io.StringIO()
        write_rounds(lines, recordings(report.samples))
        write_file(bench.rounds, lines.getvalue())


def _remember_speed(key: SpeedKey | None, report: BenchReport, plan: BenchPlan) -> None:
    """Remember a whole bench whose answers were right: plain decoding, and the default drafter if it took part."""
    plain = [cell.tokens_per_second for cell in report.cells if cell.variant == PLAIN_LABEL]
    if key is None or report.interrupted or not report.lossless or not plain or median(plain) <= 0:
        return
    label = next((v.label for v in plan.variants if v.drafter == DEFAULT_DRAFT.drafter), None)
    speedups = [
        cell.speedup.value for cell in report.cells if cell.variant == label and cell.speedup is not None
    ]
    bench = PastBench(
        plain_tps=median(plain),
        speedup=Span(min(speedups), max(speedups)) if speedups else None,
        tasks=len(report.tasks),
        runs=plan.runs,
        at=datetime.now().astimezone(),
    )
    record_bench(key, bench)


def _write_json(environment: Environment, document: dict[str, Any], bench: BenchOptions) -> None:
    text = json.dumps(document, ensure_ascii=False) + "\n"
    if bench.json == STDOUT:
        environment.stdout.write(text)
        environment.stdout.flush()
    elif bench.json is not None:
        write_file(bench.json, text)
