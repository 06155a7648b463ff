"""Commands about how answers are made: options, speculation, figures, models."""

from __future__ import annotations

import os
import re
import shlex

from specdec_cli.chat.chat import Chat
from specdec_cli.chat.commands.command import Command, no_argument
from specdec_cli.chat.option_table import OPTIONS, find_option
from specdec_cli.chat.options_in_use import AUTO, set_option, speculating_drafter, use_drafter, value_of
from specdec_cli.chat.totals import stats_rows
from specdec_cli.draft.catalog import PLAIN
from specdec_cli.errors import UsageProblem


def set_command(chat: Chat, argument: str) -> None:
    """Show all options, show one, or change one."""
    name, *rest = re.split(r"\s*=\s*|\s+", argument, maxsplit=1)
    text = rest[0] if rest else ""
    if not name:
        chat.view.rows(
            (f"{option.name} {value_of(chat, option)}", option.meaning) for option in OPTIONS.values()
        )
        return
    option = find_option(name)
    if text.strip():
        set_option(chat, option, text.strip())
    chat.view.note(f"{option.name} {value_of(chat, option)}")


def spec(chat: Chat, argument: str) -> None:
    """Show whether answers are speculated, or switch it."""
    if argument:
        names = {"on": lambda: speculating_drafter(chat), "off": lambda: PLAIN, "auto": lambda: AUTO}
        if argument not in names:
            raise UsageProblem(f"/spec cannot be {argument!r}", hint="on, off or auto")
        use_drafter(chat, names[argument]())
    engine = chat.require_loaded().engine
    chat.view.note(f"speculation: {engine.speculation} ({engine.reason})")


def stats(chat: Chat, argument: str) -> None:
    """The conversation in numbers."""
    no_argument("stats", argument)
    chat.view.rows(stats_rows(chat))


def check(chat: Chat, argument: str) -> None:
    """The report of `specdec check` for the models in use."""
    no_argument("check", argument)
    chat.slot.models.check()


def model(chat: Chat, argument: str) -> None:
    """Show the models, or load another target, with or without a draft."""
    words = _words(argument)
    if not words:
        _show_models(chat)
        return
    if len(words) > 2:
        raise UsageProblem("/model takes a target and at most one draft", hint="quote names with spaces")
    target, draft = words[0], words[1] if len(words) == 2 else None
    _switch(chat, {"pair": None, "target": target, "draft": draft, "drafter": None})


def pair(chat: Chat, argument: str) -> None:
    """Show the pairs, or load another one."""
    if not argument:
        _show_models(chat)
        chat.view.note("pairs: " + ", ".join(chat.slot.models.pair_names()))
        return
    _switch(chat, {"pair": argument, "target": None, "draft": None})


def _switch(chat: Chat, changes: dict[str, object]) -> None:
    chat.open(changes)
    chat.save()
    _show_models(chat)
    if chat.conversation.turns:
        chat.view.note("the conversation goes on; it is read anew with the next message")


def _show_models(chat: Chat) -> None:
    loaded = chat.require_loaded()
    chat.view.note(f"{loaded.title} · context {chat.meter.size} · speculation {loaded.engine.speculation}")


def _words(argument: str) -> list[str]:
    try:
        words = shlex.split(argument, posix=os.name != "nt")
    except ValueError as error:
        raise UsageProblem(f"a quote is not closed in {argument!r}") from error
    return [word.strip('"') for word in words]


COMMANDS = (
    Command(
        "set",
        "[NAME [VALUE]]",
        "show or change sampling and drafter options",
        set_command,
        completes="option",
    ),
    Command("spec", "[on|off|auto]", "whether answers are speculated", spec, ("on", "off", "auto")),
    Command("stats", "", "this conversation in numbers", stats),
    Command("check", "", "do the models fit together and into memory", check),
    Command("model", "[TARGET [DRAFT]]", "show or switch the models", model, completes="file"),
    Command("pair", "[NAME]", "show the pairs or switch to one", pair, completes="pair"),
)
