"""What `specdec check` does once its options are values: headers, machine, preflight, report."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from specdec_cli.cli.environment import Environment
from specdec_cli.cli.headers import KnownModel, known_models
from specdec_cli.cli.machine import chosen_machine
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.cli.speed_records import speed_key
from specdec_cli.errors import SpecdecError, UsageProblem
from specdec_cli.hardware.values import Machine
from specdec_cli.preflight import (
    MeasuredModel,
    PreflightReport,
    PreflightRequest,
    preflight,
    preflight_document,
)
from specdec_cli.registry.measured_speeds import measured_speed
from specdec_cli.settings import ContextSettings
from specdec_cli.speeds import MeasuredSpeed
from specdec_cli.ui.check_view import print_check, print_verdict
from specdec_cli.ui.console import Printer


@dataclass(frozen=True)
class CheckOptions:
    """What `check` takes beside the models and their settings."""

    machine: str | None = None
    exact: bool = False
    offline: bool = False
    strict: bool = False
    json: bool = False
    quiet: bool = False

    def validate(self) -> None:
        """Raise `UsageProblem` for what contradicts itself."""
        if self.exact and self.machine is not None:
            raise UsageProblem("--exact asks llama.cpp on this machine, --machine plans for another one")


def run_check(environment: Environment, options: EngineOptions, check: CheckOptions) -> int:
    """Print the report; returns the exit code: 0 for ok and warn, 1 for fail (`--strict`: for warn too)."""
    printer = Printer(environment.stderr, quiet=check.quiet or check.json)
    report = check_pair(environment, options, check, printer)
    if check.json:
        environment.stdout.write(json.dumps(preflight_document(report), ensure_ascii=False) + "\n")
    elif check.quiet:
        print_verdict(report, environment.stdout)
    else:
        print_check(report, environment.stdout)
    environment.stdout.flush()
    failed = report.verdict == "fail" or (check.strict and report.verdict == "warn")
    return SpecdecError.exit_code if failed else 0


def check_pair(
    environment: Environment, options: EngineOptions, check: CheckOptions, printer: Printer
) -> PreflightReport:
    """The report for what the options name."""
    target, draft = known_models(options, printer, offline=check.offline)
    probe = chosen_machine(environment, check.machine)
    target_settings, draft_settings = options.context_settings(default_threads=1)
    request = PreflightRequest(
        target=target.header,
        draft=None if draft is None else draft.header,
        machine=probe.machine,
        target_settings=target_settings,
        draft_settings=draft_settings,
        draft_max=options.drafting().draft_max,
        explicit_ctx=options.ctx is not None,
        measured_speed=_known_speed(options, target, draft, probe.machine) if check.machine is None else None,
        notes=(*probe.findings, *target.notes, *(() if draft is None else draft.notes)),
    )
    report = preflight(request)
    if not check.exact or report.memory is None:
        return report
    return preflight(_with_exact_sizes(request, report, target, draft))


def _known_speed(
    options: EngineOptions, target: KnownModel, draft: KnownModel | None, machine: Machine
) -> MeasuredSpeed | None:
    """What was measured of these files here. Of a draft that is not here the target's own speed is known at most."""
    if target.path is None:
        return None
    key = speed_key(options, target.path, None if draft is None else draft.path, machine)
    known = None if key is None else measured_speed(key)
    if known is not None and draft is not None and draft.path is None:
        return replace(known, drafting=None)
    return known


def _with_exact_sizes(
    request: PreflightRequest, report: PreflightReport, target: KnownModel, draft: KnownModel | None
) -> PreflightRequest:
    """The request with llama.cpp's own figures for every model that would be loaded."""
    context = report.context
    target_settings = replace(request.target_settings, n_ctx=context)
    rows = request.draft_max + 1 if draft is not None else 1
    measured = replace(request, measured_target=_measure(target, target_settings, rows))
    if draft is None or report.memory is None or report.memory.draft is None:
        return measured
    trained = draft.header.context_length
    draft_settings = replace(request.draft_settings, n_ctx=min(context, trained) if trained else context)
    return replace(measured, measured_draft=_measure(draft, draft_settings, 1))


def _measure(model: KnownModel, settings: ContextSettings, rows: int) -> MeasuredModel:
    from specdec_cli.llama.apart import exact_sizes_apart

    if model.path is None:
        raise SpecdecError(
            f"--exact needs the file on this machine, and {model.header.source} is not here",
            hint="leave out --exact: the header alone gives an estimate",
            code="file.not_here",
        )
    sizes = exact_sizes_apart(model.path, settings, rows)
    return MeasuredModel(sizes.weights, sizes.cache_by_device, sizes.compute_by_device)
