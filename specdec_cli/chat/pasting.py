"""Long pastes stand in the line as one short mark, and go out whole."""

from __future__ import annotations

import re

_LONG_CHARACTERS = 2_000
_LONG_LINES = 25
_MARK = re.compile(r"\[paste (\d+): [\d,]+ lines?, [\d,]+ characters\]")


class Pastes:
    """The pasted texts of the line being edited."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def take(self, text: str) -> str:
        """What to put into the line for a paste: the text itself, or a mark that stands for it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + 1
        if len(text) <= _LONG_CHARACTERS and lines <= _LONG_LINES:
            return text
        self._texts.append(text)
        what = "line" if lines == 1 else "lines"
        return f"[paste {len(self._texts)}: {lines:,} {what}, {len(text):,} characters]"

    def expand(self, line: str) -> str:
        """The line with all texts in their places."""

        def text_of(found: re.Match[str]) -> str:
            number = int(found[1])
            return self._texts[number - 1] if 1 <= number <= len(self._texts) else found[0]

        return _MARK.sub(text_of, line)

    def clear(self) -> None:
        """The line was sent."""
        self._texts.clear()
