"""Messages from a pipe or a file: one a line, or a block between triple quotes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import BinaryIO, TextIO

from specdec_cli.chat.input_text import is_open_block


class PlainLines:
    """The terminal of a chat that has none. Asks nothing, draws nothing."""

    is_interactive = False

    def __init__(self, stdin: BinaryIO, prompt_to: TextIO | None = None) -> None:
        """`prompt_to`: where to show that a line is waited for, when a person types it."""
        self._stdin = stdin
        self._prompt_to = prompt_to

    def read(self, default: str = "") -> str:
        """The next message. `default` is for people who edit; here it is not used."""
        text = self._line("> ")
        while is_open_block(text):
            try:
                text += "\n" + self._line("… ")
            except EOFError:
                break
        return text

    def choose(self, question: str, choices: Mapping[str, str], default: str) -> str:
        """Nobody answers."""
        return default

    def answering(self) -> Callable[[], None]:
        """There is no typing to hide."""
        return lambda: None

    def _line(self, prompt: str) -> str:
        if self._prompt_to is not None:
            self._prompt_to.write(prompt)
            self._prompt_to.flush()
        line = self._stdin.readline()
        if not line:
            raise EOFError
        return line.decode("utf-8", "replace").rstrip("\r\n")
