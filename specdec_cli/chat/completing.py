"""Tab: commands, and what may stand behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from specdec_cli.chat.commands.command import Command
from specdec_cli.chat.commands.table import COMMANDS
from specdec_cli.chat.option_table import OPTIONS


class ChatCompleter(Completer):
    """Completes lines that begin with a slash; messages are the user's own."""

    def __init__(self, sessions: Callable[[], list[str]], pairs: Callable[[], list[str]]) -> None:
        self._words: dict[str, Callable[[], Iterable[str]]] = {
            "session": sessions,
            "pair": pairs,
            "command": lambda: COMMANDS,
            "option": lambda: OPTIONS,
        }
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Completions at the end of a command line."""
        text = document.text_before_cursor
        if not text.startswith("/") or "\n" in text:
            return
        name, space, argument = text[1:].partition(" ")
        if not space:
            yield from self._commands(name)
            return
        command = COMMANDS.get(name)
        if command is None:
            return
        argument = argument.lstrip()
        if command.completes == "file":
            yield from self._paths.get_completions(Document(argument), complete_event)
        else:
            yield from self._arguments(command, argument)

    def _commands(self, typed: str) -> Iterable[Completion]:
        for command in COMMANDS.values():
            if command.name.startswith(typed.lower()):
                yield Completion(command.name, -len(typed), display_meta=command.meaning)

    def _arguments(self, command: Command, argument: str) -> Iterable[Completion]:
        words = command.choices or self._words.get(command.completes, tuple)()
        option, space, value = argument.partition(" ")
        if space and command.completes == "option" and option in OPTIONS:
            words, argument = OPTIONS[option].choices, value.lstrip()
        for word in words:
            if word.startswith(argument):
                yield Completion(word, -len(argument))
