"""Reading a paste takes time in proportion to its length; prompt_toolkit's own parser takes its square."""

from __future__ import annotations

from prompt_toolkit.input import Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

_END = "\x1b[201~"


class PasteParser(Vt100Parser):
    """Collects a bracketed paste in pieces, and looks for its end only where that can be new."""

    _pieces: list[str]
    _tail = ""

    def feed(self, data: str) -> None:
        """Parse input as it was read."""
        if not self._in_bracketed_paste:
            self._pieces, self._tail = [], ""
            super().feed(data)
            return
        self._pieces.append(data)
        recent = self._tail + data
        if _END not in recent:
            self._tail = recent[-len(_END) + 1 :]
            return
        pasted, _, rest = "".join(self._pieces).partition(_END)
        self.feed_key_callback(KeyPress(Keys.BracketedPaste, pasted))
        self._in_bracketed_paste = False
        self.feed(rest)


def read_pastes_fast(terminal_input: Input) -> None:
    """Let this input use our parser; inputs of another kind (Windows) read pastes in one go as they are."""
    parser = getattr(terminal_input, "vt100_parser", None)
    if type(parser) is Vt100Parser:
        terminal_input.vt100_parser = PasteParser(parser.feed_key_callback)  # type: ignore[attr-defined]
