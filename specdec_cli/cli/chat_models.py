"""The door through which a chat loads models: the same choosing, checking and assembling as `specdec run`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from specdec_cli.assemble import Engine, assemble
from specdec_cli.chat.chat import Interrupts
from specdec_cli.chat.ports import Loaded, LoadedFile
from specdec_cli.cli.chat_attention import for_a_conversation
from specdec_cli.cli.chat_memory import options_that_fit
from specdec_cli.cli.check_service import CheckOptions, check_pair
from specdec_cli.cli.default_model import with_a_model
from specdec_cli.cli.environment import Environment
from specdec_cli.cli.models import ChosenModels, choose_models
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.cli.run_preflight import findings_to_show, machine_to_run_on, preflight_models
from specdec_cli.cli.run_service import engine_request
from specdec_cli.cli.speed_records import AnswerRecorder
from specdec_cli.cli.tuned import with_tuned_defaults
from specdec_cli.errors import SpecdecError
from specdec_cli.preflight import PreflightReport
from specdec_cli.registry.catalog import load_catalog
from specdec_cli.settings import SamplingSettings
from specdec_cli.ui.check_view import print_check
from specdec_cli.ui.console import Printer

Consent = Callable[[str, str], bool]
"""Asked (what is wrong, what would be done instead); False where nobody answers."""
_MEMORY = "memory."
_OUT_OF_MEMORY = re.compile(r"alloc|out of memory|memory", re.IGNORECASE)
_MOST_ATTEMPTS = 8


class ChatModels:
    """Implements `chat.ports.Models` over the options of the command line."""

    def __init__(
        self,
        environment: Environment,
        options: EngineOptions,
        sampling: SamplingSettings,
        printer: Printer,
        interrupts: Interrupts,
        consent: Consent,
        *,
        force: bool,
    ) -> None:
        self.environment = environment
        self.options = options
        self.sampling = sampling
        self.printer = printer
        self.interrupts = interrupts
        self.consent = consent
        self.force = force
        self.backend = environment.open_backend()
        self._in_use = options
        """What is loaded now was loaded with."""

    def prepare(self, changes: Mapping[str, object]) -> PreparedModels:
        """Find and compare the models; memory is looked at when they are loaded, the old ones being gone then."""
        typed = replace(self.options, **cast(Any, dict(changes)))
        typed.validate()
        typed = with_a_model(typed, self.environment, self.printer)
        options, tuned = with_tuned_defaults(typed)
        if tuned is not None:
            self.printer.line(tuned, "dim")
        models = choose_models(options, self.backend, self.printer)
        report = preflight_models(options, models, self.backend)
        others = [finding for finding in report.findings if not finding.code.startswith(_MEMORY)]
        refusal = replace(report, findings=tuple(others)).refusal(force=self.force)
        if refusal is not None:
            raise refusal
        return PreparedModels(self, typed, options, models)

    def option(self, name: str) -> object:
        """An option as it was typed for what is loaded."""
        return getattr(self.options, name)

    def check(self) -> None:
        """What `specdec check` says of the models in use."""
        report = check_pair(self.environment, self._in_use, CheckOptions(), self.printer)
        print_check(report, self.environment.stdout)
        self.environment.stdout.flush()
        self.printer.line("what is loaded now is not counted as free memory", "dim")

    def loaded(self, typed: EngineOptions, in_use: EngineOptions) -> None:
        """Models are loaded: what was typed for them, and what that became."""
        self.options, self._in_use = typed, in_use

    def pair_names(self) -> list[str]:
        """Pairs of the catalog."""
        return list(load_catalog().pairs)


class PreparedModels:
    """Implements `chat.ports.Prepared`."""

    def __init__(
        self, door: ChatModels, typed: EngineOptions, options: EngineOptions, models: ChosenModels
    ) -> None:
        """`options`: what was typed, completed by what was tuned for this machine."""
        self._door = door
        self._typed = typed
        self._options = options
        self._models = models

    def load(self) -> Loaded:
        """Check memory, load; where it does not fit, ask whether something smaller will do."""
        options, models = self._options, self._models
        for _attempt in range(_MOST_ATTEMPTS):
            in_use, problem = self._planned(options, models)
            planned = problem is not None
            if problem is None:
                try:
                    engine = self._assemble(in_use, models)
                except SpecdecError as error:
                    if not _is_out_of_memory(error):
                        raise
                    problem = error
                else:
                    self._door.loaded(self._typed if options == self._options else options, in_use)
                    machine = machine_to_run_on(self._door.backend)
                    recorder = AnswerRecorder(in_use, models, engine, machine)
                    return self._loaded(engine, options, models, recorder)
            options, models = self._smaller(options, models, problem, failed=not planned)
        raise SpecdecError(
            "nothing that was tried fits into memory", hint="specdec recommend names what does"
        )

    def _planned(
        self, options: EngineOptions, models: ChosenModels
    ) -> tuple[EngineOptions, SpecdecError | None]:
        """The options with their attention decided, unless memory forbids it; and why they cannot be loaded."""
        gpus = any(device.kind in ("gpu", "igpu") for device in self._door.backend.devices())
        in_use = for_a_conversation(options, models, has_gpu=gpus)
        problem = self._refused(in_use, models)
        if problem is not None and in_use != options and _is_out_of_memory(problem):
            return options, self._refused(options, models)
        return in_use, problem

    def _refused(self, options: EngineOptions, models: ChosenModels) -> SpecdecError | None:
        report: PreflightReport = preflight_models(options, models, self._door.backend)
        refusal = report.refusal(force=self._door.force)
        if refusal is None:
            for finding in findings_to_show(report, verbose=False):
                self._door.printer.finding(finding)
        return refusal

    def _smaller(
        self, options: EngineOptions, models: ChosenModels, problem: SpecdecError, *, failed: bool
    ) -> tuple[EngineOptions, ChosenModels]:
        """Options that fit and that the user agrees to. Raises the problem when there are none."""
        if not _is_out_of_memory(problem):
            raise problem
        machine = preflight_models(options, models, self._door.backend).machine
        found = options_that_fit(options, models, machine, failed=failed)
        if found is None or found[0] == options or not self._door.consent(problem.message, found[1]):
            raise problem
        smaller = found[0]
        return smaller, models if smaller.drafter != "none" else ChosenModels(models.target, None)

    def _assemble(self, options: EngineOptions, models: ChosenModels) -> Engine:
        door = self._door
        with door.interrupts() as interrupted, door.printer.progress() as progress:

            def loading(what: str, fraction: float) -> bool:
                progress(what, fraction)
                return not interrupted()

            return assemble(door.backend, engine_request(options, models, door.sampling), loading)

    def _loaded(
        self, engine: Engine, options: EngineOptions, models: ChosenModels, recorder: AnswerRecorder
    ) -> Loaded:
        target, draft = models.target, models.draft if engine.draft is not None else None
        title = f"{options.pair} ({target.quant}" if options.pair else target.path.stem
        if draft is not None:
            title += f" + {draft.quant}" if options.pair else f" + {draft.path.stem}"
        title += ")" if options.pair else ""
        names = {"pair": options.pair, "target": options.target, "draft": options.draft}
        paths = [target.path] if draft is None else [target.path, draft.path]
        return Loaded(
            engine=engine,
            title=title,
            selection={name: _absolute(value) for name, value in names.items() if value is not None},
            files=tuple(LoadedFile(path, path.stat().st_size) for path in paths),
            on_answer=recorder,
        )


def _is_out_of_memory(error: SpecdecError) -> bool:
    code = error.code or ""
    return code.startswith(_MEMORY) or (code == "file.load" and bool(_OUT_OF_MEMORY.search(error.message)))


def _absolute(reference: str) -> str:
    """A path that still means the same in another folder."""
    path = Path(reference).expanduser()
    return str(path.absolute()) if path.exists() else reference
