"""One answer on the screen: thinking dimmed or folded, the rest as Markdown, as marked text, or as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TextIO

from rich.console import Console
from rich.style import Style
from rich.text import Text

from specdec_cli.engine.output import Piece
from specdec_cli.ui.answer import AnswerWriter
from specdec_cli.ui.chat_text import visible
from specdec_cli.ui.markdown_stream import MarkdownStream
from specdec_cli.ui.word_flow import WordFlow

Part = Literal["thinking", "answer"]
_THINKING = Style(dim=True, italic=True)


class AnswerView:
    """Draws the parts of one answer as they come. `close` ends it."""

    def __init__(
        self,
        stream: TextIO,
        console: Console,
        width: Callable[[], int],
        *,
        markdown: bool,
        show_accepted: bool,
        show_thinking: bool,
    ) -> None:
        self._stream = stream
        self._console = console
        self._width = width
        self._on_terminal = stream.isatty()
        self._folds = self._on_terminal and not console.legacy_windows
        self._show_thinking = show_thinking
        self._body: _MarkdownBody | _RawBody
        if markdown and not show_accepted:
            self._body = _MarkdownBody(MarkdownStream(console, width))
        else:
            self._body = _RawBody(AnswerWriter(stream, show_accepted=show_accepted))
        self._flow: WordFlow | None = None
        self._thought = 0
        self._thinking_ends = ""
        self._answered = False

    def write(self, part: Part, text: str, drafted: bool) -> None:
        """Text that became ready."""
        if self._on_terminal:
            text = visible(text)
        if part == "thinking":
            self._think(text)
            return
        if not self._answered:
            self._end_thinking()
            self._answered = True
        self._body.write(Piece(text, drafted))
        self._console.file.flush()

    def close(self) -> None:
        """Draw what was held back, end the line."""
        self._end_thinking()
        if self._answered:
            self._body.close()
        if not self._on_terminal:
            self._stream.write("\n")
        self._stream.flush()

    def _think(self, text: str) -> None:
        if not self._show_thinking:
            self._fold(text)
        elif isinstance(self._body, _RawBody):
            self._stream.write(text if self._thought else f"<think>\n{text}")
            self._thinking_ends = "" if text.endswith("\n") else "\n"
        else:
            self._flow = self._flow or WordFlow(self._console, self._width)
            first, *rest = text.split("\n")
            self._flow.push(first, _THINKING)
            for line in rest:
                self._flow.newline()
                self._flow.push(line, _THINKING)
        self._thought += len(text.split()) or 1
        self._stream.flush()

    def _fold(self, text: str) -> None:
        """A line that counts, and is gone when the answer begins."""
        if self._folds:
            words = self._thought + len(text.split())
            self._console.print(Text(f"\r· thinking … {words} words", style="dim"), end="", soft_wrap=True)

    def _end_thinking(self) -> None:
        if not self._thought:
            return
        self._thought = 0
        if self._flow is not None:
            if not self._flow.at_line_start:
                self._flow.newline()
            self._flow.newline()
            self._flow = None
        elif self._show_thinking:
            self._stream.write(f"{self._thinking_ends}</think>\n\n")
        elif self._folds:
            self._stream.write("\r\x1b[2K")


class _MarkdownBody:
    def __init__(self, markdown: MarkdownStream) -> None:
        self._markdown = markdown

    def write(self, piece: Piece) -> None:
        self._markdown.push(piece.text)

    def close(self) -> None:
        self._markdown.finish()


class _RawBody:
    def __init__(self, writer: AnswerWriter) -> None:
        self._writer = writer

    def write(self, piece: Piece) -> None:
        self._writer.write((piece,))

    def close(self) -> None:
        self._writer.close()
