"""What `specdec verify` does once its options are values: models, check, engine, proof, report."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from specdec_cli.assemble import EngineRequest, assemble
from specdec_cli.cli.environment import Environment
from specdec_cli.cli.interrupt import Interruption, listening_for_interrupt
from specdec_cli.cli.models import ChosenModel, ChosenModels, choose_models
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.cli.run_preflight import findings_to_show, preflight_models
from specdec_cli.cli.run_service import engine_request
from specdec_cli.cli.tuned import with_tuned_defaults
from specdec_cli.documents import model_document
from specdec_cli.draft.catalog import PLAIN
from specdec_cli.engine.engine import Engine
from specdec_cli.errors import SpecdecError, UsageProblem
from specdec_cli.proof.document import proof_document
from specdec_cli.proof.prompts import BUILT_IN, Prompt, read_prompts
from specdec_cli.proof.prove import ProofPlan, prove
from specdec_cli.proof.report import ProofReport
from specdec_cli.proof.subject import Subject
from specdec_cli.protocols import Backend
from specdec_cli.settings import DEFAULT_DRAFT, SamplingSettings
from specdec_cli.ui.console import Printer
from specdec_cli.ui.verify_view import print_proof, print_proof_verdict

_CONTEXT = 2048
"""Enough for the built-in prompts. A second context of this size is made beside the first, now and then."""
_FEWEST_SAMPLES = 20
_MOST_SAMPLES = 100_000
_MOST_TOKENS = 100_000


@dataclass(frozen=True)
class VerifyOptions:
    """What `verify` takes beside the models and their settings."""

    prompts: Path | None
    samples: int
    max_tokens: int
    seed: int
    force: bool = False
    json: bool = False
    quiet: bool = False

    def validate(self) -> None:
        """Raise `UsageProblem` for the first value out of range."""
        if self.samples != 0 and not _FEWEST_SAMPLES <= self.samples <= _MOST_SAMPLES:
            raise UsageProblem(
                f"--samples {self.samples}: must be from {_FEWEST_SAMPLES} to {_MOST_SAMPLES}, "
                "or 0 to leave the two-sample test out"
            )
        if not 2 <= self.max_tokens <= _MOST_TOKENS:
            raise UsageProblem(f"--max-tokens {self.max_tokens}: must be from 2 to {_MOST_TOKENS}")
        if self.seed < 0:
            raise UsageProblem(f"--seed {self.seed}: must not be negative")


def run_verify(environment: Environment, typed: EngineOptions, verify: VerifyOptions) -> int:
    """Prove, print, and return the exit code: 1 when an answer differs and rounding does not explain it."""
    printer = Printer(environment.stderr, quiet=verify.quiet or verify.json)
    prompts = BUILT_IN if verify.prompts is None else read_prompts(verify.prompts)
    backend = environment.open_backend()
    with listening_for_interrupt() as interruption:
        options, tuned = with_tuned_defaults(typed)
        if tuned is not None:
            printer.line(tuned, "dim")
        models = choose_models(options, backend, printer)
        if typed.drafter is None and options.drafter in (None, DEFAULT_DRAFT.drafter, PLAIN):
            options = replace(options, drafter=_drafter_on_trial(models))
        _check(options, models, backend, printer, force=verify.force)
        request = _request(options, models, verify)
        report, engine = _proved(backend, request, prompts, verify, printer, interruption)
    if verify.json:
        document = proof_document(
            report,
            target=_model(models.target),
            draft=_model(models.draft) if models.draft is not None else None,
            seed=verify.seed,
            engine={"llama_cpp_python": backend.version, "backend": backend.name},
            findings=engine.findings,
        )
        environment.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    elif verify.quiet:
        print_proof_verdict(report, environment.stdout)
    else:
        print_proof(report, environment.stdout)
    environment.stdout.flush()
    return SpecdecError.exit_code if report.verdict == "different" else 0


def _drafter_on_trial(models: ChosenModels) -> str:
    """Unless one is asked for, one that drafts whenever it can: a policy that holds drafts back proves less."""
    return "model" if models.draft is not None else "ngram"


def _check(
    options: EngineOptions, models: ChosenModels, backend: Backend, printer: Printer, *, force: bool
) -> None:
    """As `run` does. Counts twice the context, for the contexts made beside the engine's."""
    doubled = options if options.ctx is None else replace(options, ctx=2 * options.ctx)
    report = preflight_models(doubled, models, backend)
    refusal = report.refusal(force=force)
    if refusal is not None:
        raise refusal
    for finding in findings_to_show(report, verbose=False):
        printer.finding(finding)


def _request(options: EngineOptions, models: ChosenModels, verify: VerifyOptions) -> EngineRequest:
    request = engine_request(options, models, SamplingSettings(seed=verify.seed))
    if options.ctx is not None:
        return request
    return replace(
        request,
        target_settings=replace(request.target_settings, n_ctx=_CONTEXT),
        draft_settings=replace(request.draft_settings, n_ctx=_CONTEXT),
    )


def _proved(
    backend: Backend,
    request: EngineRequest,
    prompts: tuple[Prompt, ...],
    verify: VerifyOptions,
    printer: Printer,
    interruption: Interruption,
) -> tuple[ProofReport, Engine]:
    """The report, and the engine it is about, closed."""
    with printer.progress() as progress:

        def loading(what: str, fraction: float) -> bool:
            progress(what, fraction)
            return not interruption()

        engine = assemble(backend, request, loading)
        try:
            for finding in engine.findings:
                printer.finding(finding)
            subject = Subject(engine, request.target_settings, request.draft_settings, interruption)
            plan = ProofPlan(verify.max_tokens, verify.samples, verify.seed, request.drafting.accept)
            return prove(subject, prompts, plan, progress), engine
        finally:
            engine.close()


def _model(model: ChosenModel) -> dict[str, object]:
    return model_document(model.path, model.name, model.quant, model.header.weight_bytes)
