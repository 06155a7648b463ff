"""Standard error for people: progress, notes, summaries. One printer decides what is shown and how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from specdec_cli.findings import Finding

Progressing = Callable[[str, float | None], None]

_LEVEL_STYLES = {"error": "bold red", "warning": "yellow", "info": "dim"}


class Printer:
    """Prints notes to `stream`. Colours only on a terminal and without `NO_COLOR` (rich sees to both)."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self.console = Console(file=stream, highlight=False, soft_wrap=True, emoji=False)
        self.quiet = quiet

    def line(self, text: str, style: str = "") -> None:
        """One line, unless quiet. `text` is taken as it is, never as markup."""
        if not self.quiet:
            self.console.print(Text(text, style=style))

    def finding(self, finding: Finding) -> None:
        """A warning or a note, and its way out."""
        self.line(f"{finding.level}: {finding.message}", _LEVEL_STYLES[finding.level])
        if finding.hint:
            self.line(f"hint: {finding.hint}", "dim")

    @contextmanager
    def progress(self) -> Iterator[Progressing]:
        """A progress line on a terminal, nothing elsewhere; call it with (what, 0 … 1 or None if unknown).

        A new description starts a new line only when the fraction starts again.
        """
        if self.quiet or not self.console.is_terminal:
            yield lambda _what, _fraction: None
            return
        columns = (TextColumn("{task.description}", style="dim"), BarColumn(), TaskProgressColumn())
        with Progress(*columns, console=self.console, transient=True) as bars:
            task = bars.add_task("", total=None)

            def report(what: str, fraction: float | None) -> None:
                total = None if fraction is None else 1.0
                bars.update(task, description=what, total=total, completed=fraction or 0.0)

            yield report
