"""What `specdec tune` does once its options are values: the space, the tournament, the file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from specdec_cli.bench.document import SCHEMA, estimate_document
from specdec_cli.bench.tasks import parse_tasks
from specdec_cli.bench.tuning import Tournament, TuneAmounts, TuneResult, TuneSpace
from specdec_cli.bench.values import Placement, Variant
from specdec_cli.cli.bench_options import STDOUT, check_amounts, check_writable, write_file
from specdec_cli.cli.bench_service import Stage, about_document, open_rig, stage
from specdec_cli.cli.environment import Environment
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.cli.run_preflight import preflight_models
from specdec_cli.cli.tune_drafts import other_drafts
from specdec_cli.draft.catalog import drafter_kind
from specdec_cli.errors import UsageProblem
from specdec_cli.hardware.system import system_facts
from specdec_cli.registry.tuned import TunedSettings, forget_tuned, pair_key, save_tuned
from specdec_cli.settings import DEFAULT_CONTEXT, DEFAULT_TUNE, KvType
from specdec_cli.ui.console import Printer
from specdec_cli.ui.tune_view import print_tuning


@dataclass(frozen=True)
class TuneOptions:
    """What `tune` takes beside the models and their settings."""

    tasks: str
    runs: int
    max_tokens: int
    lossy_kv: bool = False
    forget: bool = False
    json: Path | None = None
    quiet: bool = False
    force: bool = False

    def validate(self, options: EngineOptions) -> None:
        """Raise for what is out of range, before anything is loaded."""
        tasks = parse_tasks(self.tasks)
        check_amounts(tasks, self.runs, self.max_tokens)
        most = TuneAmounts(tasks, self.runs, self.max_tokens).most_questions_ask
        if not 2 <= self.runs <= most:
            raise UsageProblem(
                f"--runs {self.runs}: must be from 2 to {most}",
                hint="one run has no interval, and the confirmation needs prompts of its own",
            )
        if pair_key(options.pair, options.target, options.draft) is None:
            raise UsageProblem("no model given to tune", hint="--pair NAME, or --target and --draft")
        if self.lossy_kv and options.kv_type != DEFAULT_CONTEXT.kv_type:
            raise UsageProblem("--kv-type already says which cache the target has, so --lossy-kv has no use")
        if self.json is not None and self.json != STDOUT:
            check_writable("--json", self.json)


def run_tune(environment: Environment, options: EngineOptions, tune: TuneOptions) -> int:
    """Tune and store, or forget; returns the exit code."""
    printer = Printer(environment.stderr, quiet=tune.quiet)
    key = pair_key(options.pair, options.target, options.draft)
    assert key is not None
    if tune.forget:
        known = forget_tuned(key)
        printer.line(
            "forgotten: the defaults apply again" if known else "nothing was stored for these models"
        )
        return 0
    with stage(environment, options, printer, force=tune.force) as ready:
        space = tune_space(options, ready, lossy_kv=tune.lossy_kv)
        amounts = TuneAmounts(parse_tasks(tune.tasks), tune.runs, tune.max_tokens)
        drafting = options.drafting()
        defaults = Variant(drafting.drafter, drafting.drafter, drafting.draft_max, ready.placement)
        longest = max(drafting.draft_max, *space.lengths)
        with open_rig(ready, longest) as (rig, progress):
            tournament = Tournament(rig, amounts, ready.interruption, progress)
            result = tournament.run(defaults, space)
        stored = tuned_settings(result, space) if result.is_better else None
        file = save_tuned(key, stored) if stored is not None else None
        dropped = stored is None and forget_tuned(key)
        about = about_document(ready, {"runs": tune.runs, "max_tokens": tune.max_tokens})
    if tune.json != STDOUT:
        print_tuning(result, stored, environment.stdout, file=file, dropped=dropped)
        environment.stdout.flush()
    if tune.json is not None:
        _write(environment, tune.json, tune_document(result, stored, about))
    return 0


def tune_space(options: EngineOptions, ready: Stage, *, lossy_kv: bool) -> TuneSpace:
    """What the user has left open."""
    threads = () if options.threads is not None else thread_counts()
    has_draft = ready.models.draft is not None
    usual = options.kv_type == DEFAULT_CONTEXT.kv_type
    most = options.draft_max or max(DEFAULT_TUNE.lengths)
    lengths = {length for length in DEFAULT_TUNE.lengths if length <= most}
    return TuneSpace(
        threads=threads,
        drafts=other_drafts(options, ready.models, ready.backend),
        lengths=tuple(sorted(lengths | {most})),
        draft_threads=threads if has_draft and options.draft_threads is None else (),
        draft_kv_types=(
            _kv_types(options, ready, of_target=False)
            if usual and has_draft and options.draft_kv_type is None
            else ()
        ),
        kv_types=_kv_types(options, ready, of_target=True) if lossy_kv else (),
    )


def _kv_types(options: EngineOptions, ready: Stage, *, of_target: bool) -> tuple[KvType, ...]:
    """Those of the types to try that these models can have."""
    possible = []
    for kind in DEFAULT_TUNE.kv_types:
        changed = replace(options, kv_type=kind) if of_target else replace(options, draft_kv_type=kind)
        report = preflight_models(changed, ready.models, ready.backend)
        if not any(finding.code.startswith("kv.") for finding in report.findings if finding.level == "error"):
            possible.append(kind)
    return tuple(possible)


def thread_counts() -> tuple[int, ...]:
    """Worth trying: half, three quarters and all of the cores, fast and slow, and every logical one."""
    facts = system_facts()
    usable = max(1, int(facts.usable_cores))
    counts = {facts.physical_cores // 2, facts.performance_cores * 3 // 4, facts.performance_cores}
    return tuple(sorted(max(1, min(count, usable)) for count in counts | {facts.physical_cores, usable}))


def tuned_settings(result: TuneResult, space: TuneSpace) -> TunedSettings:
    """What differs from the defaults, with what it gains."""
    best, before = result.best, result.defaults
    now, then = best.placement, before.placement
    other_drafter = (best.drafter, best.draft_max) != (before.drafter, before.draft_max)
    speculates = drafter_kind(best.drafter).speculates
    threads = now.target_settings.threads
    return TunedSettings(
        drafter=best.drafter if other_drafter else None,
        draft_max=best.draft_max if other_drafter and speculates else None,
        threads=threads if threads != then.target_settings.threads else None,
        draft_threads=now.draft_settings.threads if now.draft_settings.threads != threads else None,
        draft_kv_type=_changed(now.draft_settings.kv_type, then.draft_settings.kv_type),
        kv_type=_changed(now.target_settings.kv_type, then.target_settings.kv_type),
        draft=_draft_reference(now, then, space),
        speedup=round(result.over_plain.value, 3),
        gain=round(result.over_defaults.value, 3),
        measured_at=date.today().isoformat(),
    )


def tune_document(result: TuneResult, stored: TunedSettings | None, about: dict[str, Any]) -> dict[str, Any]:
    """`tune --json`."""
    return {
        "schema": SCHEMA,
        **about,
        "questions": [
            {
                "name": question.name,
                "in_use": question.in_use,
                "chosen": question.chosen,
                "answers": [
                    {"label": answer.label, "ratio": estimate_document(answer.ratio)}
                    for answer in question.answers
                ],
            }
            for question in result.questions
        ],
        "over_plain": estimate_document(result.over_plain),
        "over_defaults": estimate_document(result.over_defaults),
        "stored": None if stored is None else asdict(stored),
    }


def _changed(now: str, then: str) -> str | None:
    return now if now != then else None


def _draft_reference(now: Placement, then: Placement, space: TuneSpace) -> str | None:
    if now.draft == then.draft:
        return None
    return next(reference for reference, path in space.drafts.items() if path == now.draft)


def _write(environment: Environment, file: Path, document: dict[str, Any]) -> None:
    text = json.dumps(document, ensure_ascii=False) + "\n"
    if file == STDOUT:
        environment.stdout.write(text)
        environment.stdout.flush()
    else:
        write_file(file, text)
