"""The download as people see it: one display for all files, with speed and time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from specdec_cli.registry.download import DownloadEvent, DownloadPlan, PlannedFile
from specdec_cli.ui.console import Printer
from specdec_cli.ui.sizes import size_text


@contextmanager
def downloading(plan: DownloadPlan, printer: Printer) -> Iterator[Callable[[DownloadEvent], None]]:
    """Show the plan's progress until the block ends; yields what `download` reports to.

    On a terminal bars for every file, and for all when there are several; elsewhere a line per file.
    """
    files = [file for file in plan.files if not file.whole]
    if not files:
        yield lambda _event: None
    elif printer.quiet or not printer.console.is_terminal:
        yield _Lines(printer).report
    else:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(compact=True),
        )
        with Progress(*columns, console=printer.console, transient=True) as bars:
            yield _Bars(bars, files, printer).report


def print_pulled(plan: DownloadPlan, printer: Printer) -> None:
    """Afterwards: every file and where it is."""
    for file in plan.files:
        how = "was here" if file.whole else "downloaded, size and SHA-256 verified"
        if not file.whole and file.remote.sha256 is None:
            how = "downloaded, size verified"
        printer.line(f"{file.remote.file} · {size_text(file.remote.size)} · {how}")
        printer.line(f"  {file.path}", "dim")


class _Bars:
    def __init__(self, bars: Progress, files: list[PlannedFile], printer: Printer) -> None:
        self._bars = bars
        self._printer = printer
        self._here = {file.path: file.bytes_here for file in files}
        self._tasks: dict[object, TaskID] = {
            file.path: bars.add_task(
                _short(file.remote.file), total=file.remote.size, completed=file.bytes_here
            )
            for file in files
        }
        self._all: TaskID | None = None
        if len(files) > 1:
            total = sum(file.remote.size for file in files)
            self._all = bars.add_task("all", total=total, completed=sum(self._here.values()))

    def report(self, event: DownloadEvent) -> None:
        if event.note:
            self._printer.line(event.note, "dim")
        elif event.file is not None and event.file.path in self._tasks:
            self._here[event.file.path] = event.bytes_here
            self._bars.update(self._tasks[event.file.path], completed=event.bytes_here)
            if self._all is not None:
                self._bars.update(self._all, completed=sum(self._here.values()))


class _Lines:
    """For logs: when a file begins, and whatever is worth a note."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self._begun: set[object] = set()

    def report(self, event: DownloadEvent) -> None:
        file = event.file
        if event.note:
            self._printer.line(event.note)
        elif file is not None and not file.whole and file.path not in self._begun:
            self._begun.add(file.path)
            going_on = f", {size_text(file.bytes_here)} of it are here" if file.bytes_here else ""
            self._printer.line(f"downloading {file.remote.file} ({size_text(file.remote.size)}{going_on})")


def _short(name: str) -> str:
    base = name.rsplit("/", 1)[-1]
    return base if len(base) <= 40 else f"…{base[-39:]}"
