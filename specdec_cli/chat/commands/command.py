"""A command as a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from specdec_cli.chat.chat import Chat
from specdec_cli.errors import UsageProblem

Completes = Literal["nothing", "file", "option", "session", "pair", "command"]


class Leave(Exception):
    """The user wants to end the chat."""


@dataclass(frozen=True)
class Command:
    """One command. `run` gets the chat and what was typed behind the name, stripped."""

    name: str
    usage: str
    """Its arguments, as help shows them."""
    meaning: str
    run: Callable[[Chat, str], None]
    choices: tuple[str, ...] = ()
    """Words that an argument may be; for completion."""
    completes: Completes = "nothing"
    """What else an argument may be."""


def no_argument(name: str, argument: str) -> None:
    """Raise `UsageProblem` when something was typed behind a command that takes nothing."""
    if argument:
        raise UsageProblem(f"/{name} takes nothing behind it (there is {argument!r})")
