"""What a chat shows. Answers and what was asked for go to standard output, notes to standard error."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.text import Text

from specdec_cli.errors import SpecdecError
from specdec_cli.ui.chat_answer import AnswerView
from specdec_cli.ui.chat_text import two_columns, visible, wrapped
from specdec_cli.ui.console import Printer
from specdec_cli.ui.markdown_stream import MarkdownStream

_A_MOMENT = 0.4
"""Seconds."""


class ChatView:
    """Draws for one chat. `markdown` off shows answers as they are; so does an output that is no terminal."""

    def __init__(self, stdout: TextIO, stderr: TextIO, *, markdown: bool = True, quiet: bool = False) -> None:
        self.stdout = stdout
        self.printer = Printer(stderr, quiet=quiet)
        self.on_terminal = stdout.isatty()
        self.markdown = markdown and self.on_terminal
        self._console = Console(file=stdout, highlight=False, soft_wrap=True, emoji=False, markup=False)

    @property
    def width(self) -> int:
        """Columns of the terminal now."""
        return shutil.get_terminal_size().columns if self.on_terminal else 80

    def note(self, text: str) -> None:
        """Something worth a line, dimmed."""
        self._lines(text, "dim")

    def warning(self, text: str, hint: str | None = None) -> None:
        """Something to look after."""
        self._lines(f"warning: {text}", "yellow")
        if hint:
            self._lines(f"hint: {hint}", "dim")

    def _lines(self, text: str, style: str) -> None:
        lines = wrapped(text, self.width) if self.printer.console.is_terminal else [text]
        for line in lines:
            self.printer.line(visible(line), style)

    def error(self, error: SpecdecError) -> None:
        """Something that could not be done; shown even when quiet."""
        lines = [f"error: {' '.join(error.message.split())}"]
        if error.hint:
            lines.append(f"hint: {error.hint}")
        styles = ("bold red", "dim")
        for line, style in zip(lines, styles, strict=False):
            self.printer.console.print(Text(visible(line), style=style))

    def rows(self, rows: Iterable[tuple[str, str]], heading: str = "") -> None:
        """A table of names and what they mean."""
        if heading:
            self._console.print(Text(heading, style="bold"))
        for line in two_columns(rows, self.width):
            self._console.print(Text(visible(line)))
        self.stdout.flush()

    def text(self, text: str) -> None:
        """Text that was asked for, as it is."""
        self._console.print(Text(visible(text)))
        self.stdout.flush()

    def answer(self, *, show_accepted: bool, show_thinking: bool) -> AnswerView:
        """A new answer begins."""
        return AnswerView(
            self.stdout,
            self._console,
            lambda: self.width,
            markdown=self.markdown,
            show_accepted=show_accepted,
            show_thinking=show_thinking,
        )

    def past_turn(self, user: str, answer: str | None) -> None:
        """A turn of an earlier chat."""
        self._console.print(Text(visible(f"> {user}"), style="bold"))
        if answer is None:
            return
        if self.markdown:
            markdown = MarkdownStream(self._console, lambda: self.width)
            markdown.push(visible(answer))
            markdown.finish()
        else:
            self._console.print(Text(visible(answer) if self.on_terminal else answer))
        self.stdout.flush()

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """A line that moves while something takes longer than a moment; nothing where nobody watches."""
        console = self.printer.console
        if self.printer.quiet or not (console.is_terminal and self.on_terminal):
            yield
            return
        status = console.status(Text(text, style="dim"))
        timer = threading.Timer(_A_MOMENT, status.start)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            status.stop()
