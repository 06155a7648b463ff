"""The prompt: editing over several lines, history, completion, a line of state below."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application.current import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import Completer
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.styles import Style

from specdec_cli.chat.input_text import is_open_block
from specdec_cli.chat.line_history import KeptHistory
from specdec_cli.chat.paste_parser import read_pastes_fast
from specdec_cli.chat.pasting import Pastes
from specdec_cli.chat.quiet_terminal import without_echo

_STYLE = Style.from_dict({"prompt": "bold", "bottom-toolbar": "noreverse fg:ansibrightblack"})
_LEAVE_HINT = "Ctrl-C again or Ctrl-D leaves"


class LineEditor:
    """A person at a terminal."""

    is_interactive = True

    def __init__(self, history: Path, completer: Completer, state_line: Callable[[], str]) -> None:
        """`state_line`: what stands below the prompt, asked for each time it is drawn."""
        self._pastes = Pastes()
        self._state_line = state_line
        self._leaving = False
        self._input = create_input()
        read_pastes_fast(self._input)
        self._session: PromptSession[str] = PromptSession(
            input=self._input,
            history=KeptHistory(history),
            completer=completer,
            complete_while_typing=Condition(lambda: get_app().current_buffer.text.startswith("/")),
            auto_suggest=AutoSuggestFromHistory(),
            key_bindings=self._key_bindings(),
            multiline=True,
            prompt_continuation=lambda _width, _line, wrapped: "  " if wrapped else "· ",
            bottom_toolbar=self._toolbar,
            reserve_space_for_menu=6,
            editing_mode=EditingMode.EMACS,
            style=_STYLE,
        )
        # A terminal that cannot say where its cursor is has no line below the prompt, and needs no warning.
        self._session.app.renderer.cpr_not_supported_callback = lambda: None

    def read(self, default: str = "") -> str:
        """The next message or command, pastes whole. Raises `EOFError` when the user leaves."""
        self._leaving = False
        return self._pastes.expand(self._session.prompt([("class:prompt", "> ")], default=default))

    def choose(self, question: str, choices: Mapping[str, str], default: str) -> str:
        """By number or by the beginning of the word; Enter, Ctrl-C and Ctrl-D take the default."""
        keys = list(choices)
        print(question)
        for number, key in enumerate(keys, 1):
            print(f"  {number}  {choices[key]}")
        asking: PromptSession[str] = PromptSession(input=self._input)
        while True:
            try:
                typed = asking.prompt(f"1–{len(keys)}, Enter for {keys.index(default) + 1}: ").strip().lower()
            except (EOFError, KeyboardInterrupt):
                return default
            if not typed:
                return default
            if typed.isdecimal() and 1 <= int(typed) <= len(keys):
                return keys[int(typed) - 1]
            matching = [key for key in keys if key.startswith(typed)]
            if len(matching) == 1:
                return matching[0]

    def answering(self) -> Callable[[], None]:
        """Typing is not echoed until the result is called; it waits for the next prompt."""
        with suppress(OSError, NotImplementedError):
            return without_echo(self._input.fileno())
        return lambda: None

    def _toolbar(self) -> str:
        if self._leaving:
            return _LEAVE_HINT
        if is_open_block(self._session.default_buffer.text):
            return 'a block: end it with """'
        line, columns = self._state_line(), self._session.output.get_size().columns
        return line if len(line) <= columns else line[: columns - 1] + "…"

    def _key_bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("enter")
        def _enter(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if is_open_block(buffer.text):
                buffer.insert_text("\n")
            else:
                buffer.validate_and_handle()

        @bindings.add("escape", "enter")
        def _newline(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @bindings.add(Keys.BracketedPaste)
        def _paste(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text(self._pastes.take(event.data))

        @bindings.add("c-c")
        @bindings.add("<sigint>")
        def _interrupt(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                event.current_buffer.reset()
                self._leaving = False
            elif self._leaving:
                event.app.exit(exception=EOFError)
            else:
                self._leaving = True

        return bindings
