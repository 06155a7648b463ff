"""The check before loading, for commands that load: the same report as `specdec check`, the same words."""

from __future__ import annotations

from specdec_cli.cli.models import ChosenModels
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.findings import Finding
from specdec_cli.hardware.probe import machine_of
from specdec_cli.hardware.system import system_facts
from specdec_cli.hardware.values import Machine
from specdec_cli.preflight import PreflightReport, PreflightRequest, preflight
from specdec_cli.protocols import Backend


def machine_to_run_on(backend: Backend) -> Machine:
    """This machine; its rates are not measured."""
    return machine_of(system_facts(), backend.devices(), bandwidth=None)


def preflight_models(options: EngineOptions, models: ChosenModels, backend: Backend) -> PreflightReport:
    """Compatibility and memory of what is about to be loaded. No prediction: nothing is measured for it."""
    target_settings, draft_settings = options.context_settings(default_threads=1)
    return preflight(
        PreflightRequest(
            target=models.target.header,
            draft=models.draft.header if models.draft is not None else None,
            machine=machine_to_run_on(backend),
            target_settings=target_settings,
            draft_settings=draft_settings,
            draft_max=options.drafting().draft_max,
            explicit_ctx=options.ctx is not None,
        )
    )


def findings_to_show(report: PreflightReport, *, verbose: bool) -> list[Finding]:
    """What a run says of its check before it loads: errors that were forced, memory; with -v everything."""
    if verbose:
        return list(report.findings)
    return [
        finding
        for finding in report.findings
        if finding.level == "error" or (finding.level == "warning" and finding.code.startswith("memory."))
    ]
