"""What `bench` and `tune` take beside the models and their settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specdec_cli.bench.tasks import TASKS, most_runs, parse_tasks
from specdec_cli.bench.variants import Choice, default_drafters, parse_drafters
from specdec_cli.draft.catalog import drafter_kind
from specdec_cli.errors import SpecdecError, UsageProblem
from specdec_cli.settings import DEFAULT_BENCH

STDOUT = Path("-")
_MOST_TOKENS = 100_000


@dataclass(frozen=True)
class BenchOptions:
    """As typed; None is "not given"."""

    tasks: str | None = None
    runs: int | None = None
    max_tokens: int | None = None
    drafters: str | None = None
    profile: bool = False
    json: Path | None = None
    html: Path | None = None
    rounds: Path | None = None
    quiet: bool = False
    force: bool = False

    def validate(self) -> None:
        """Raise before anything is loaded: for what is out of range, and for files that cannot be written."""
        check_amounts(self.task_names, self.run_count, self.token_count)
        if self.drafters is not None:
            parse_drafters(self.drafters)
        if self.profile:
            for name, value in (
                ("--drafters", self.drafters),
                ("--runs", self.runs),
                ("--max-tokens", self.max_tokens),
                ("--html", self.html),
                ("--rounds", self.rounds),
            ):
                if value is not None:
                    raise UsageProblem(f"--profile generates nothing, so {name} has no use")
        files = [file for file in (self.json, self.html, self.rounds) if file not in (None, STDOUT)]
        if len(set(files)) < len(files):
            raise UsageProblem("--json, --html and --rounds need a file each")
        for name, file in (("--json", self.json), ("--html", self.html), ("--rounds", self.rounds)):
            if file is not None and not (name == "--json" and file == STDOUT):
                check_writable(name, file)
        if self.html is not None:
            from specdec_cli.bench.charts import require_pygal

            require_pygal()

    @property
    def task_names(self) -> tuple[str, ...]:
        """The tasks asked for, or all."""
        return TASKS if self.tasks is None else parse_tasks(self.tasks)

    @property
    def run_count(self) -> int:
        """Prompts per task."""
        return DEFAULT_BENCH.runs if self.runs is None else self.runs

    @property
    def token_count(self) -> int:
        """Most tokens of an answer."""
        return DEFAULT_BENCH.max_tokens if self.max_tokens is None else self.max_tokens

    def choices(self, *, has_draft: bool) -> tuple[Choice, ...]:
        """The drafters asked for, or the default ones. Raises `UsageProblem` for one that lacks its draft."""
        if self.drafters is None:
            return default_drafters(has_draft=has_draft)
        choices = parse_drafters(self.drafters)
        lacking = [c for c in choices if drafter_kind(c.drafter).needs.own_context and not has_draft]
        if lacking:
            raise UsageProblem(f"--drafters {lacking[0].label} needs a --draft")
        return choices


def check_amounts(tasks: tuple[str, ...], runs: int, max_tokens: int) -> None:
    """Raise `UsageProblem` for more runs than there are fresh prompts, and for nonsense."""
    most = most_runs(tasks)
    if not 1 <= runs <= most:
        raise UsageProblem(f"--runs {runs}: must be from 1 to {most}, the number of prompts per task")
    if not 2 <= max_tokens <= _MOST_TOKENS:
        raise UsageProblem(f"--max-tokens {max_tokens}: must be from 2 to {_MOST_TOKENS}")


def check_writable(option: str, file: Path) -> None:
    """Raise now rather than after minutes of measuring."""
    if file.is_dir():
        raise SpecdecError(f"{option} {file}: that is a folder")
    if not file.parent.is_dir():
        raise SpecdecError(f"{option} {file}: there is no folder {file.parent}")


def write_file(file: Path, text: str) -> None:
    """Write a report. Raises `SpecdecError` with the system's reason."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SpecdecError(f"{file} cannot be written: {error.strerror or error}") from error
