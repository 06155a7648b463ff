"""The loop: a line is a command or a message, and no bad one ends it."""

from __future__ import annotations

from specdec_cli.chat.chat import Chat
from specdec_cli.chat.commands.command import Leave
from specdec_cli.chat.commands.table import as_command, run_command
from specdec_cli.chat.input_text import clean_message
from specdec_cli.errors import SpecdecError

EXIT_INTERRUPTED = 130


def run_chat(chat: Chat) -> int:
    """Until the user leaves or the input ends; returns the exit code.

    With a person at the terminal it is 0. Without one it is 1 when a line could not be answered, and 130 when
    Ctrl-C stopped an answer: what follows in the pipe is not asked then.
    """
    failed = False
    while True:
        try:
            line = chat.terminal.read()
            if not _take(chat, line):
                return EXIT_INTERRUPTED
        except (EOFError, Leave):
            break
        except KeyboardInterrupt:
            if not chat.terminal.is_interactive:
                return EXIT_INTERRUPTED
            chat.view.note("stopped")
        except SpecdecError as error:
            chat.view.error(error)
            failed = True
    if chat.terminal.is_interactive and chat.conversation.turns:
        chat.view.note(f"saved as {chat.session.name}; specdec chat --resume goes on with it")
    return SpecdecError.exit_code if failed and not chat.terminal.is_interactive else 0


def _take(chat: Chat, line: str) -> bool:
    """Do what a line says; False when Ctrl-C stopped its answer where nobody could type the next one."""
    if not line.strip():
        return True
    command = as_command(line)
    if command is not None:
        run_command(chat, *command)
        return True
    message = clean_message(line)
    if message:
        chat.ask(message)
    return chat.terminal.is_interactive or not chat.was_stopped
