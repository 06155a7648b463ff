"""Commands about sessions, files and what is shown."""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args

from specdec_cli.chat.chat import Chat
from specdec_cli.chat.clipboard import copy_text
from specdec_cli.chat.commands.command import Command
from specdec_cli.chat.session_document import SavedChat
from specdec_cli.chat.session_files import SessionFile, check_name, session_names
from specdec_cli.chat.text_files import ExportFormat, as_attachment, export, read_text, typed_path
from specdec_cli.chat.thinking import split_thinking
from specdec_cli.errors import SpecdecError, UsageProblem

_CODE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)^\1", re.MULTILINE | re.DOTALL)
_SWITCHES = ("thinking", "accepted", "figures", "markdown")


def save(chat: Chat, argument: str) -> None:
    """Say where the session is, or go on under another name."""
    if argument:
        name = check_name(argument)
        session = SessionFile(chat.session.folder, name)
        if session.path.exists() and name != chat.session.name:
            raise SpecdecError(f"there is a session called {name} already", hint=f"/load {name} opens it")
        chat.session = session if name != chat.session.name else chat.session
    chat.save()
    chat.view.note(f"saved as {chat.session.name} ({chat.session.path})")


def load(chat: Chat, argument: str) -> None:
    """Go on with another session, with the models in use."""
    if not argument:
        raise UsageProblem("/load needs a session's name", hint="specdec chat --list shows them")
    session = SessionFile(chat.session.folder, check_name(argument))
    saved = session.load()
    if saved is None:
        raise SpecdecError(f"there is no session called {argument!r}", hint=_near(chat, argument))
    if chat.conversation.turns:
        chat.save()
    chat.session, chat.conversation = session, saved.conversation
    show_history(chat, last=1)
    chat.view.note(f"session {session.name}: {len(saved.conversation.turns)} turns")


def _near(chat: Chat, name: str) -> str:
    from specdec_cli.registry.catalog import nearest

    near = nearest(name, tuple(session_names(chat.session.folder)))
    return f"did you mean {near}?" if near else "specdec chat --list shows them"


def export_command(chat: Chat, argument: str) -> None:
    """Write the conversation to a file."""
    kind, _, name = argument.partition(" ")
    for known in get_args(ExportFormat):
        if kind == known:
            path = typed_path(name) if name.strip() else Path(f"{chat.session.name}.{known}")
            selection = chat.loaded.selection if chat.loaded is not None else {}
            export(SavedChat(chat.conversation, selection, chat.settings), known, path, chat.session.name)
            chat.view.note(f"written to {path.absolute()}")
            return
    raise UsageProblem(f"/export cannot write {kind!r}", hint="/export md [PATH] or /export json [PATH]")


def file(chat: Chat, argument: str) -> None:
    """Add a file's text to the next message."""
    if not argument:
        raise UsageProblem("/file needs a path")
    if argument == "-":
        chat.attachments.clear()
        chat.view.note("no file goes out with the next message")
        return
    path = typed_path(argument)
    text = read_text(path)
    chat.attachments.append(as_attachment(path, text))
    count = len(chat.attachments)
    what = f"{path.name} ({len(text):,} characters)" if count == 1 else f"{path.name} and {count - 1} more"
    chat.view.note(f"{what} will go out with the next message (/file - takes it back)")


def show(chat: Chat, argument: str) -> None:
    """Switch what is shown, or show the conversation again."""
    if argument == "history":
        show_history(chat)
        return
    if argument and argument not in _SWITCHES:
        raise UsageProblem(f"/show knows no {argument!r}", hint=", ".join((*_SWITCHES, "history")))
    if argument == "markdown":
        chat.view.markdown = not chat.view.markdown and chat.view.on_terminal
    elif argument:
        setattr(chat.shown, argument, not getattr(chat.shown, argument))
    states = {field.name: getattr(chat.shown, field.name) for field in fields(chat.shown)}
    states["markdown"] = chat.view.markdown
    wanted = [argument] if argument else list(_SWITCHES)
    chat.view.note(" · ".join(f"{name} {'on' if states[name] else 'off'}" for name in wanted))


def show_history(chat: Chat, last: int | None = None) -> None:
    """Print the turns again, the last ones or all."""
    turns = chat.conversation.turns
    for turn in turns if last is None else turns[-last:]:
        said = split_thinking(turn.answer, turn.thinking_opened).answer if turn.answer is not None else None
        chat.view.past_turn(turn.user, said)


def copy(chat: Chat, argument: str) -> None:
    """Copy the last answer, or its last code block."""
    answered = chat.conversation.answered
    if not answered:
        raise SpecdecError("there is no answer to copy")
    last = answered[-1]
    text = split_thinking(last.answer or "", last.thinking_opened).answer.strip()
    if argument == "code":
        blocks = _CODE.findall(text)
        if not blocks:
            raise SpecdecError("there is no code block in the last answer")
        text = blocks[-1][1]
    elif argument:
        raise UsageProblem(f"/copy cannot copy {argument!r}", hint="/copy or /copy code")
    by = copy_text(text, sys.stdout)
    chat.view.note(f"{len(text):,} characters copied (by {by})")


COMMANDS = (
    Command("save", "[NAME]", "where the session is; go on under another name", save),
    Command("load", "NAME", "go on with another session", load, completes="session"),
    Command("export", "md|json [PATH]", "write the conversation to a file", export_command, ("md", "json")),
    Command("file", "PATH", "add a file's text to the next message", file, completes="file"),
    Command(
        "show", "[WHAT]", "thinking, accepted, figures, markdown; history", show, (*_SWITCHES, "history")
    ),
    Command("copy", "[code]", "copy the last answer, or its last code block", copy, ("code",)),
)
