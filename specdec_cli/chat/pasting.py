"""Long pastes stand in the line as one short mark, and go out whole."""

from __future__ import annotations

import re

_LONG_CHARACTERS = 2_000
_LONG_LINES = 25
_KEPT_CHARACTERS = 32 << 20
_MARK = re.compile(r"\[paste (\d+): [\d,]+ lines?, [\d,]+ characters\]")


class Pastes:
    """Texts that were pasted in this chat, as long as a line that is called back may still mean them."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._count = 0

    def take(self, text: str) -> str:
        """What to put into the line for a paste: the text itself, or a mark that stands for it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + 1
        if len(text) <= _LONG_CHARACTERS and lines <= _LONG_LINES:
            return text
        self._count += 1
        self._texts[self._count] = text
        while len(self._texts) > 1 and sum(map(len, self._texts.values())) > _KEPT_CHARACTERS:
            del self._texts[min(self._texts)]
        what = "line" if lines == 1 else "lines"
        return f"[paste {self._count}: {lines:,} {what}, {len(text):,} characters]"

    def expand(self, line: str) -> str:
        """The line with all texts in their places."""
        return _MARK.sub(lambda found: self._texts.get(int(found[1]), found[0]), line)


def has_mark(line: str) -> bool:
    """Whether a line means more than it says, and that only in this chat."""
    return _MARK.search(line) is not None
