"""Markdown drawn while it arrives.

Text is only ever appended: words flow as they come, marks wait until they are closed, a table until it ends.
So there is nothing to redraw, nothing flickers, and scrolling back or resizing finds ordinary lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rich.console import Console
from rich.style import Style

from specdec_cli.ui.code_lines import CodeLines
from specdec_cli.ui.inline_markdown import STRONG, take_spans
from specdec_cli.ui.markdown_table import draw_table, is_table
from specdec_cli.ui.word_flow import WordFlow

DIM = Style(dim=True)
HEADING = Style(bold=True, color="magenta")

_FENCE = re.compile(r"(\s*)(`{3,}|~{3,})\s*([^`\n]*)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+")
_RULE = re.compile(r" {0,3}([-*_])([ \t]*\1){2,}[ \t]*")
_BULLET = re.compile(r"([ \t]*)[-*+][ \t]+")
_NUMBER = re.compile(r"([ \t]*)(\d{1,9}[.)])[ \t]+")
_QUOTE = re.compile(r" {0,3}> ?")
_UNDECIDED = re.compile(
    r"\s*((#{0,6}|[-+]|\d{1,9}[.)]?|[-*_]([ \t]*[-*_])*)[ \t]*|>[ \t]?|`{1,2}|~{1,2}|(`{3,}|~{3,})[^`\n]*|\|.*)"
)
"""The beginning of a line that may yet become something else."""


class MarkdownStream:
    """Draws one answer. Feed it with `push`, end it with `finish`."""

    def __init__(self, console: Console, width: Callable[[], int]) -> None:
        self._console = console
        self._width = width
        self._flow = WordFlow(console, width)
        self._buffer = ""
        self._inside_line = False
        self._line_style = Style.null()
        self._before = ""
        self._code: CodeLines | None = None
        self._fence = ""
        self._table: list[str] = []
        self._blank_before = True

    def push(self, text: str) -> None:
        """Draw what this text makes certain."""
        self._buffer += text.replace("\r\n", "\n").replace("\t", "    ")
        while self._advance(complete=False):
            pass

    def finish(self) -> None:
        """Nothing more comes: draw what was held back and end the line."""
        while self._advance(complete=True):
            pass
        if self._code is not None and self._code.line:
            self._code.end_line()
        self._end_table()
        if not self._flow.at_line_start:
            self._flow.newline()

    def _advance(self, complete: bool) -> bool:
        """Draw one thing; False when more text is needed."""
        if not self._buffer:
            return False
        if self._code is not None:
            return self._code_line(self._code)
        if self._inside_line:
            return self._line_text(complete)
        return self._line_start(complete)

    def _line_start(self, complete: bool) -> bool:
        line, newline, _ = self._buffer.partition("\n")
        whole = bool(newline) or complete
        if not whole and _UNDECIDED.fullmatch(line):
            return False
        if line.lstrip().startswith("|") and not self._inside_line:
            self._take(len(line) + len(newline))
            self._table.append(line)
            return True
        self._end_table()
        if whole and self._whole_line(line, len(line) + len(newline)):
            return True
        self._begin_line(line)
        return True

    def _whole_line(self, line: str, size: int) -> bool:
        """Lines that mean something only as a whole: fences, rules, empty ones."""
        fence = _FENCE.fullmatch(line)
        if fence:
            self._take(size)
            self._fence = fence[2]
            self._flow.push(line, DIM)
            self._flow.newline()
            self._code = CodeLines(self._console, self._width, fence[3].split(" ")[0].strip())
        elif _RULE.fullmatch(line):
            self._take(size)
            self._flow.push("─" * min(self._width(), 80), DIM)
            self._flow.newline()
        elif not line.strip():
            self._take(size)
            if not self._blank_before:
                self._flow.newline()
            self._blank_before = True
            return True
        else:
            return False
        self._blank_before = False
        return True

    def _begin_line(self, line: str) -> None:
        """Print what a line of text begins with; the rest flows."""
        self._inside_line, self._before, self._blank_before = True, "", False
        self._line_style = Style.null()
        if found := _QUOTE.match(line):
            self._flow.begin_line("▌ ", "▌ ", DIM)
        elif found := _HEADING.match(line):
            self._line_style = HEADING if len(found[1]) < 3 else STRONG
        elif found := _BULLET.match(line):
            self._flow.begin_line(f"{found[1]}• ", " " * (len(found[1]) + 2))
        elif found := _NUMBER.match(line):
            first = f"{found[1]}{found[2]} "
            self._flow.begin_line(first, " " * len(first))
        else:
            indent = line[: len(line) - len(line.lstrip())]
            self._flow.begin_line(indent, indent)
            self._take(len(indent))
            return
        self._take(found.end())

    def _line_text(self, complete: bool) -> bool:
        line, newline, _ = self._buffer.partition("\n")
        spans, size = take_spans(line, bool(newline) or complete, self._before)
        for span in spans:
            self._flow.push(span.text, self._line_style + span.style)
        if size:
            self._before = line[size - 1]
        self._take(size)
        if newline and size == len(line):
            self._take(1)
            self._flow.newline()
            self._inside_line = False
            return True
        return False

    def _code_line(self, code: CodeLines) -> bool:
        text, newline, _ = self._buffer.partition("\n")
        self._take(len(text) + len(newline))
        code.push(text)
        if newline:
            closing = code.line.strip()
            if closing.startswith(self._fence) and not closing.strip(self._fence[0]):
                code.end_block()
                self._code = None
            else:
                code.end_line()
        return bool(newline)

    def _end_table(self) -> None:
        lines, self._table = self._table, []
        if is_table(lines):
            draw_table(self._console, lines, self._width())
            self._blank_before = False
            return
        for line in lines:
            self._flow.push(line)
            self._flow.newline()
            self._blank_before = False

    def _take(self, size: int) -> None:
        self._buffer = self._buffer[size:]
