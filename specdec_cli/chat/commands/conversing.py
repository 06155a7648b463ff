"""Commands about the conversation itself."""

from __future__ import annotations

from dataclasses import replace

from specdec_cli.chat.chat import Chat
from specdec_cli.chat.commands.command import Command, Leave, no_argument
from specdec_cli.chat.conversation import Conversation
from specdec_cli.chat.session_files import SessionFile, new_name
from specdec_cli.errors import SpecdecError, UsageProblem


def leave(_chat: Chat, argument: str) -> None:
    """End the chat."""
    no_argument("exit", argument)
    raise Leave


def clear(chat: Chat, argument: str) -> None:
    """Begin anew in a new session; what was said stays in the old one."""
    no_argument("clear", argument)
    if not chat.conversation.turns:
        chat.view.note("there is nothing to clear")
        return
    chat.save()
    old = chat.session.name
    chat.session = SessionFile(chat.session.folder, new_name(chat.session.folder))
    chat.conversation = Conversation(system=chat.conversation.system)
    chat.view.note(f"a new conversation; the old one is kept: /load {old}")


def retry(chat: Chat, argument: str) -> None:
    """Answer the last message again; when sampling, with other random numbers."""
    no_argument("retry", argument)
    if not chat.conversation.turns:
        raise SpecdecError("there is nothing to answer again")
    again = chat.conversation.pending is None
    if again and chat.sampling.temperature > 0:
        chat.sampling = replace(chat.sampling, seed=(chat.sampling.seed + 1) % 2**32)
        chat.require_loaded().engine.use_sampling(chat.sampling)
    elif again:
        chat.view.note("temperature 0 always gives the same answer; /set temp 0.8 gives others")
    chat.ask_again()


def edit(chat: Chat, argument: str) -> None:
    """Change the last message and answer it."""
    if not chat.conversation.turns:
        raise SpecdecError("there is no message to edit")
    last = chat.conversation.turns[-1]
    if not argument and not chat.terminal.is_interactive:
        raise UsageProblem("/edit needs the new text here", hint="/edit TEXT")
    if not argument:
        try:
            argument = chat.terminal.read(default=last.user).strip()
        except (EOFError, KeyboardInterrupt):
            argument = ""
    if not argument or argument == last.user:
        chat.view.note("not changed")
        return
    chat.ask_instead(argument)


def undo(chat: Chat, argument: str) -> None:
    """Take the last turn back."""
    no_argument("undo", argument)
    if not chat.conversation.turns:
        raise SpecdecError("there is nothing to undo")
    chat.conversation = chat.conversation.without_last()
    chat.save()
    left = len(chat.conversation.turns)
    chat.view.note(f"the last turn is gone; {left} turn{'s' if left != 1 else ''} left")


def system(chat: Chat, argument: str) -> None:
    """Show the system prompt, or set it, or remove it."""
    if not argument:
        chat.view.note(f"system prompt: {chat.conversation.system or 'none'}")
        return
    chat.conversation = replace(chat.conversation, system=None if argument == "-" else argument)
    if chat.conversation.turns:
        chat.save()
    chat.view.note("the system prompt was removed" if argument == "-" else "the system prompt is set")


COMMANDS = (
    Command("exit", "", "leave; the conversation is saved after every turn", leave),
    Command("clear", "", "begin a new conversation; the old one stays saved", clear),
    Command("retry", "", "answer the last message again", retry),
    Command("edit", "[TEXT]", "change the last message and answer it", edit),
    Command("undo", "", "take the last turn back", undo),
    Command("system", "[TEXT | -]", "show, set or remove the system prompt", system),
)
