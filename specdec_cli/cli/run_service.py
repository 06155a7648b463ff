"""What `specdec run` does once its options are values: resolve, load, prefill, stream, sum up."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, replace
from time import perf_counter

from specdec_cli.assemble import EngineRequest, assemble
from specdec_cli.cli.default_model import with_a_model
from specdec_cli.cli.environment import Environment
from specdec_cli.cli.exit_codes import EXIT_INTERRUPTED
from specdec_cli.cli.interrupt import listening_for_interrupt
from specdec_cli.cli.models import ChosenModel, ChosenModels, choose_models
from specdec_cli.cli.requests import EngineOptions, OutputOptions
from specdec_cli.cli.run_preflight import findings_to_show, preflight_models
from specdec_cli.cli.speed_records import AnswerRecorder
from specdec_cli.cli.tuned import with_tuned_defaults
from specdec_cli.documents import model_document, run_document
from specdec_cli.engine.engine import Engine
from specdec_cli.engine.generation import Generation
from specdec_cli.engine.template import prompt_tokens
from specdec_cli.findings import Finding
from specdec_cli.hardware.threads import default_threads
from specdec_cli.registry.folders import cache_dir
from specdec_cli.settings import GenerationSettings, SamplingSettings
from specdec_cli.ui.answer import AnswerWriter
from specdec_cli.ui.console import Printer
from specdec_cli.ui.summary import summary_line

_WAYS_ON = {"length": "raise --max-tokens", "context": "raise --ctx", "stop": "leave out --stop"}
"""What lets an answer go on that ended for this reason."""


def run_once(
    environment: Environment,
    options: EngineOptions,
    sampling: SamplingSettings,
    limits: GenerationSettings,
    output: OutputOptions,
    *,
    prompt: str,
    system: str | None,
    raw: bool,
    grammar: str | None,
    force: bool,
) -> int:
    """One answer; returns the exit code."""
    printer = Printer(environment.stderr, quiet=output.quiet or output.json)
    backend = environment.open_backend()
    with listening_for_interrupt() as interruption:
        options, tuned = with_tuned_defaults(with_a_model(options, environment, printer))
        if tuned is not None:
            printer.line(tuned, "dim")
        models = choose_models(options, backend, printer)
        report = preflight_models(options, models, backend)
        refusal = report.refusal(force=force)
        if refusal is not None:
            raise refusal
        for finding in findings_to_show(report, verbose=output.verbose):
            printer.finding(finding)
        request = replace(engine_request(options, models, sampling), grammar=grammar)
        if output.verbose:
            _be_verbose(printer, request, limits)
        with printer.progress() as progress:

            def loading(what: str, fraction: float) -> bool:
                progress(what, fraction)
                return not interruption()

            engine = assemble(backend, request, loading)
        try:
            tokens = prompt_tokens(engine.target, prompt, system, raw=raw)
            generation = engine.generate(limits, interruption)
            shown_seconds = _stream(environment, printer, generation, tokens, output)
            _report(environment, printer, engine, models, generation, request, output)
            AnswerRecorder(options, models, engine, report.machine)(generation, shown_seconds)
        finally:
            engine.close()
    return EXIT_INTERRUPTED if generation.finish_reason == "interrupt" else 0


def engine_request(options: EngineOptions, models: ChosenModels, sampling: SamplingSettings) -> EngineRequest:
    """What to assemble for these options and files."""
    target_settings, draft_settings = options.context_settings(default_threads())
    return EngineRequest(
        target=models.target.path,
        draft=models.draft.path if models.draft is not None else None,
        target_settings=target_settings,
        draft_settings=draft_settings,
        drafting=options.drafting(),
        sampling=sampling,
        off_reason=options.off_reason(),
        profiles=cache_dir() / "profiles",
        explicit_ctx=options.ctx is not None,
    )


def _stream(
    environment: Environment,
    printer: Printer,
    generation: Generation,
    tokens: list[int],
    output: OutputOptions,
) -> float:
    """Prefill, then print what each round makes ready (nothing with --json). Returns the seconds of printing."""
    if printer.console.is_terminal and not printer.quiet:
        with printer.console.status(f"reading {len(tokens)} tokens of prompt"):
            generation.prefill(tokens)
    else:
        generation.prefill(tokens)
    if output.json:
        for _event in generation:
            pass
        return 0.0
    writer = AnswerWriter(environment.stdout, show_accepted=output.show_accepted)
    seconds = 0.0
    try:
        for event in generation:
            begun = perf_counter()
            writer.write(event.pieces)
            seconds += perf_counter() - begun
    finally:
        writer.close()
    return seconds


def _report(
    environment: Environment,
    printer: Printer,
    engine: Engine,
    models: ChosenModels,
    generation: Generation,
    request: EngineRequest,
    output: OutputOptions,
) -> None:
    """The findings and the summary line on stderr, or the JSON document on stdout."""
    findings = [*engine.findings, *_findings_afterwards(engine, generation)]
    for finding in findings:
        printer.finding(finding)
    statistics = generation.statistics
    printer.line(
        summary_line(
            statistics, len(generation.token_ids), generation.seconds, engine.speculation, engine.reason
        ),
        "dim",
    )
    if not output.json:
        return
    document = run_document(
        generation,
        state=engine.speculation,
        reason=engine.reason,
        policy=engine.policy_summary(),
        drafter=engine.drafting.drafter,
        target=_model_document(models.target),
        draft=_model_document(models.draft)
        if engine.draft is not None and models.draft is not None
        else None,
        seed=request.sampling.seed,
        engine={"llama_cpp_python": engine.backend.version, "backend": engine.backend.name},
        findings=findings,
    )
    environment.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    environment.stdout.flush()


def _model_document(model: ChosenModel) -> dict[str, object]:
    return model_document(model.path, model.name, model.quant, model.header.weight_bytes)


def _findings_afterwards(engine: Engine, generation: Generation) -> list[Finding]:
    """What a run may have to say about itself: a drafter that gave up, a draft that was loaded for nothing."""
    findings = []
    notice = engine.session.drafter.notice
    if notice:
        findings.append(Finding("warning", "context.draft_full", notice))
    if generation.unfinished:
        findings.append(
            Finding(
                "warning",
                "sampling.grammar_unfinished",
                f"the answer ends before its grammar lets it ({generation.finish_reason}): it is not complete",
                hint=_WAYS_ON.get(generation.finish_reason or "interrupt"),
            )
        )
    statistics = generation.statistics
    silent = statistics.rounds > 1 and not statistics.drafted
    if engine.draft is not None and silent and engine.speculation == "on":
        findings.append(
            Finding("warning", "hardware.draft_unused", "the draft model was loaded but drafted nothing")
        )
    return findings


def _be_verbose(printer: Printer, request: EngineRequest, limits: GenerationSettings) -> None:
    """Every setting in use, and from here on llama.cpp's own log, on stderr."""
    groups: tuple[tuple[str, object], ...] = (
        ("target", request.target_settings),
        ("draft", request.draft_settings),
        ("drafting", request.drafting),
        ("sampling", request.sampling),
        ("limits", limits),
    )
    for name, settings in groups:
        values = asdict(settings)  # type: ignore[call-overload]
        printer.line(f"{name}: " + ", ".join(f"{key}={value}" for key, value in values.items()), "dim")
    logger = logging.getLogger("specdec")
    handler = logging.StreamHandler(printer.console.file)
    handler.setFormatter(logging.Formatter("llama.cpp: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
