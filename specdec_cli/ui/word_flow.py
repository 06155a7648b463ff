"""Words that flow to a terminal as they come: nothing that was printed is ever taken back.

A word is held until it is known to fit, so lines break between words and never flicker.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len, get_character_cell_size
from rich.console import Console
from rich.style import Style
from rich.text import Text

PLAIN = Style.null()


class WordFlow:
    """Writes styled text to a console, wrapped between words, with a hanging prefix on wrapped lines."""

    def __init__(self, console: Console, width: Callable[[], int]) -> None:
        """`width`: columns of the terminal now; asked for every word, so that resizing takes effect."""
        self._console = console
        self._width = width
        self._column = 0
        self._space = ""
        self._word: list[tuple[str, Style]] = []
        self._word_cells = 0
        self._prefix: tuple[str, Style] = ("", PLAIN)

    @property
    def at_line_start(self) -> bool:
        """Whether nothing stands on the current line yet."""
        return self._column == 0 and not self._word

    def begin_line(self, first: str, hanging: str, style: Style = PLAIN) -> None:
        """Print `first` at once; lines that wrap begin with `hanging`."""
        self._put(first, style)
        self._prefix = (hanging, style)

    def push(self, text: str, style: Style = PLAIN) -> None:
        """Text without newlines."""
        start = 0
        for index, letter in enumerate(text):
            if letter.isspace():
                self._add(text[start:index], style)
                self.flush()
                self._space += letter
                start = index + 1
            elif get_character_cell_size(letter) == 2:  # scripts without spaces break anywhere
                self._add(text[start:index], style)
                self.flush()
                self._add(letter, style)
                self.flush()
                start = index + 1
        self._add(text[start:], style)

    def flush(self) -> None:
        """Print the word that is held, on this line or the next."""
        if not self._word:
            return
        width = max(self._width(), 20)
        if self._column + cell_len(self._space) + self._word_cells > width and self._column > cell_len(
            self._prefix[0]
        ):
            self._break_line()
        elif self._space:
            self._put(self._space, PLAIN)
        self._space = ""
        for text, style in self._word:
            self._put_long(text, style, width)
        self._word, self._word_cells = [], 0

    def newline(self) -> None:
        """End the line; the next one has no prefix."""
        self.flush()
        self._space = ""
        self._prefix = ("", PLAIN)
        self._put("\n", PLAIN)
        self._column = 0

    def _add(self, text: str, style: Style) -> None:
        if text:
            self._word.append((text, style))
            self._word_cells += cell_len(text)

    def _break_line(self) -> None:
        self._put("\n", PLAIN)
        self._column = 0
        self._put(*self._prefix)

    def _put_long(self, text: str, style: Style, width: int) -> None:
        """A word wider than the line is cut; all others are printed whole."""
        while text and self._column + cell_len(text) > width:
            room = max(width - self._column, 1)
            self._put(text[:room], style)
            text = text[room:]
            if text:
                self._break_line()
        self._put(text, style)

    def _put(self, text: str, style: Style) -> None:
        if text:
            self._console.print(Text(text, style=style), end="", soft_wrap=True)
            self._column += cell_len(text)
