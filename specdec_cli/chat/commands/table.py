"""All commands, and how a typed line finds its own."""

from __future__ import annotations

import re

from specdec_cli.chat.chat import Chat
from specdec_cli.chat.commands import conversing, keeping, speculating
from specdec_cli.chat.commands.command import Command
from specdec_cli.errors import UsageProblem
from specdec_cli.registry.catalog import nearest

_COMMAND = re.compile(r"/([A-Za-z?][\w-]*)(?:\s+(.*))?", re.DOTALL)
_ALIASES = {"quit": "exit", "q": "exit", "bye": "exit", "?": "help", "h": "help", "new": "clear"}


def help_command(chat: Chat, argument: str) -> None:
    """Show all commands, or one."""
    if argument:
        command = find_command(argument.lstrip("/"))
        chat.view.rows([(_usage(command), command.meaning)])
        return
    chat.view.rows((_usage(command), command.meaning) for command in COMMANDS.values())
    chat.view.note(
        'Alt-Enter or """ for several lines · Tab completes · Ctrl-C stops an answer · Ctrl-D leaves'
    )


def _usage(command: Command) -> str:
    return f"/{command.name} {command.usage}".rstrip()


_HELP = Command("help", "[COMMAND]", "this list", help_command, completes="command")
COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (_HELP, *conversing.COMMANDS, *speculating.COMMANDS, *keeping.COMMANDS)
}


def as_command(line: str) -> tuple[str, str] | None:
    """Name and argument of a command; None for a message. A path (`/etc/hosts …`) is a message."""
    found = _COMMAND.fullmatch(line.rstrip())
    return (found[1], (found[2] or "").strip()) if found else None


def find_command(name: str) -> Command:
    """The command called so. Raises `UsageProblem` that suggests the nearest."""
    wanted = name.lower()
    wanted = _ALIASES.get(wanted, wanted)
    if wanted in COMMANDS:
        return COMMANDS[wanted]
    near = nearest(wanted, COMMANDS)
    hint = f"did you mean /{near}? " if near else ""
    raise UsageProblem(
        f"there is no command /{name}", hint=f"{hint}/help lists them; a space before it sends it as text"
    )


def run_command(chat: Chat, name: str, argument: str) -> None:
    """Do it. Raises `SpecdecError` for what cannot be done, `Leave` to end the chat."""
    find_command(name).run(chat, argument)
