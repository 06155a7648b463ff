"""Code as it streams: each line is shown while it comes, and highlighted in its place once it is whole."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

_MOST_CHARACTERS = 60_000
"""Longer code is no longer highlighted: the lexer reads all of it again for every line."""


class CodeLines:
    """One fenced block. Only the line being written is ever rewritten, with the same characters."""

    def __init__(self, console: Console, width: Callable[[], int], language: str) -> None:
        self._console = console
        self._width = width
        self._language = language
        self._whole = ""
        self.line = ""
        """What has come of the line being written."""
        self._rewrites = (
            bool(language)
            and console.is_terminal
            and console.color_system is not None
            and not console.legacy_windows
        )

    def push(self, text: str) -> None:
        """Characters of the line being written, without newlines."""
        self.line += text
        if text:
            self._console.print(Text(text), end="", soft_wrap=True)

    def end_line(self) -> None:
        """The line is whole."""
        line = self.line
        self._whole += line + "\n"
        self.line = ""
        if self._rewrites and line.strip() and len(self._whole) < _MOST_CHARACTERS:
            self._rewrite(line, self._highlighted())
        else:
            self._console.print()

    def end_block(self) -> None:
        """The line being written turned out to be the closing fence."""
        line, self.line = self.line, ""
        if self._rewrites and line:
            self._rewrite(line, Text(line, style="dim"))
        else:
            self._console.print()

    def _highlighted(self) -> Text:
        """The last line, read by the lexer after all those before it."""
        syntax = Syntax("", self._language, theme="ansi_dark")
        lines = syntax.highlight(self._whole).split("\n")
        return lines[-1] if lines else Text()

    def _rewrite(self, plain: str, styled: Text) -> None:
        if styled.plain.rstrip() != plain.rstrip():  # a lexer that changed the text has no say
            styled = Text(plain)
        rows = max(1, -(-cell_len(plain) // max(self._width(), 1)))
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        self._console.file.write(f"{up}\r\x1b[J")
        self._console.print(styled, soft_wrap=True)
