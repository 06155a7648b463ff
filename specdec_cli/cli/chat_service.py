"""What `specdec chat` does once its options are values: find the session, load, run the loop, close."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

from specdec_cli.chat.chat import Chat
from specdec_cli.chat.commands.keeping import show_history
from specdec_cli.chat.context_budget import WhenFull
from specdec_cli.chat.conversation import Conversation
from specdec_cli.chat.folders import history_file, sessions_dir
from specdec_cli.chat.model_slot import ModelSlot
from specdec_cli.chat.option_table import OPTIONS, parse_value
from specdec_cli.chat.options_in_use import restore_settings
from specdec_cli.chat.plain_lines import PlainLines
from specdec_cli.chat.ports import Terminal
from specdec_cli.chat.repl import run_chat
from specdec_cli.chat.session_document import SavedChat
from specdec_cli.chat.session_files import (
    CorruptSession,
    SessionFile,
    check_name,
    list_sessions,
    new_name,
    session_names,
)
from specdec_cli.chat.wording import speculation_text
from specdec_cli.cli.chat_models import ChatModels
from specdec_cli.cli.environment import Environment
from specdec_cli.cli.interrupt import Interruption, listening_for_interrupt
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.errors import UsageProblem
from specdec_cli.settings import GenerationSettings, SamplingSettings
from specdec_cli.ui.chat_text import meter_bar, meter_text
from specdec_cli.ui.chat_view import ChatView


@dataclass(frozen=True)
class ChatOptions:
    """What `chat` takes beside models, sampling and limits."""

    resume: bool = False
    session: str | None = None
    list_sessions: bool = False
    system: str | None = None
    when_full: str = "ask"
    plain: bool = False
    force: bool = False
    quiet: bool = False
    explicit: frozenset[str] = frozenset()
    """Names of the options that were given on the command line; these win over what a session has saved."""

    def validate(self) -> None:
        """Raise `UsageProblem` for what contradicts itself."""
        if self.resume and self.session is not None:
            raise UsageProblem(
                "--resume goes on with the last session, --session names one", hint="give one of them"
            )
        if self.when_full not in get_args(WhenFull):
            raise UsageProblem(
                f"--when-full {self.when_full}: there is no such choice",
                hint="one of " + ", ".join(get_args(WhenFull)),
            )
        if self.session is not None:
            check_name(self.session)


def print_sessions(environment: Environment) -> int:
    """`--list`: one line per session, the last one first."""
    view = ChatView(environment.stdout, environment.stderr)
    rows = []
    for info in list_sessions(sessions_dir()):
        if info.chat is None:
            rows.append((info.name, "damaged"))
            continue
        turns = info.chat.conversation.turns
        first = turns[0].user.split("\n")[0] if turns else ""
        about = first if len(first) <= 40 else first[:39] + "…"
        count = f"{len(turns)} turn{'s' if len(turns) != 1 else ''}"
        rows.append((info.name, f"{info.saved_at:%Y-%m-%d %H:%M} · {count} · {about}"))
    if rows:
        view.rows(rows)
    else:
        view.note("no conversation has been saved yet")
    return 0


def open_chat(
    environment: Environment,
    options: EngineOptions,
    sampling: SamplingSettings,
    limits: GenerationSettings,
    chat_options: ChatOptions,
) -> int:
    """Run one chat from start to end; returns the exit code."""
    view = ChatView(
        environment.stdout, environment.stderr, markdown=not chat_options.plain, quiet=chat_options.quiet
    )
    session, saved = _session(chat_options, view)
    terminal, bind = _terminal(environment)

    def consent(problem: str, instead: str) -> bool:
        view.warning(problem)
        choices = {"yes": f"load with {instead}", "no": "do not load"}
        return terminal.choose("What now?", choices, "no") == "yes"

    models = ChatModels(
        environment,
        _with_saved(options, saved, chat_options.explicit),
        sampling,
        view.printer,
        _interrupts,
        consent,
        force=chat_options.force,
    )
    conversation = saved.conversation
    if chat_options.system is not None:
        conversation = replace(conversation, system=chat_options.system or None)
    chat = Chat(
        slot=ModelSlot(models, view, terminal),
        terminal=terminal,
        view=view,
        session=session,
        interrupts=_interrupts,
        sampling=sampling,
        limits=limits,
        conversation=conversation,
        when_full=next(choice for choice in get_args(WhenFull) if choice == chat_options.when_full),
    )
    bind(chat)
    try:
        chat.open({})
        restore_settings(chat, _not_explicit(saved, chat_options.explicit))
        _welcome(chat)
        return run_chat(chat)
    finally:
        chat.slot.close()


def _session(options: ChatOptions, view: ChatView) -> tuple[SessionFile, SavedChat]:
    """The file to write to and what is in it already."""
    folder = sessions_dir()
    name = options.session
    if options.resume:
        names = session_names(folder)
        if not names:
            view.note("there is no earlier conversation; this is a new one")
        name = names[0] if names else None
    session = SessionFile(folder, name or new_name(folder))
    try:
        saved = session.load()
    except CorruptSession as error:
        view.warning(error.message, "a new conversation begins")
        saved = None
    return session, saved or SavedChat(Conversation())


def _with_saved(options: EngineOptions, saved: SavedChat, explicit: frozenset[str]) -> EngineOptions:
    """The saved session's models and loading options, where the command line names none."""
    changes: dict[str, object] = {}
    if options.pair is None and options.target is None:
        changes |= {
            name: value for name, value in saved.models.items() if name in ("pair", "target", "draft")
        }
    for name, text in _not_explicit(saved, explicit).items():
        option = OPTIONS.get(name)
        if option is not None and (option.scope == "load" or option.field == "draft_max"):
            changes[option.field] = parse_value(option, text)
    changed = replace(options, **cast(Any, changes))
    changed.validate()
    return changed


def _not_explicit(saved: SavedChat, explicit: frozenset[str]) -> dict[str, str]:
    """Saved settings that the command line does not override; both use the same names."""
    return {name: text for name, text in saved.settings.items() if name.replace("-", "_") not in explicit}


def _terminal(environment: Environment) -> tuple[Terminal, Any]:
    """A person's line editor, or lines from a pipe; and what tells it of the chat, once there is one."""
    stdin_is_ours = (
        environment.stdin is getattr(sys.stdin, "buffer", None) and environment.stdout is sys.stdout
    )
    watched = environment.stdin_is_terminal and environment.stdout.isatty()
    if not (stdin_is_ours and watched) or os.environ.get("TERM") == "dumb":
        prompt_to = environment.stderr if environment.stdin_is_terminal else None
        return PlainLines(environment.stdin, prompt_to), lambda _chat: None
    from specdec_cli.chat.completing import ChatCompleter
    from specdec_cli.chat.line_editor import LineEditor

    chats: list[Chat] = []

    def state_line() -> str:
        return _state_line(chats[0]) if chats else ""

    completer = ChatCompleter(
        sessions=lambda: session_names(sessions_dir()),
        pairs=lambda: chats[0].slot.models.pair_names() if chats else [],
    )
    return LineEditor(history_file(), completer, state_line), chats.append


def _state_line(chat: Chat) -> str:
    """Below the prompt: models, speculation, how full the context is."""
    if chat.loaded is None:
        return "no model is loaded: /pair NAME or /model PATH"
    meter = chat.meter
    parts = [
        f"{meter_bar(meter.used, meter.size)} {meter_text(meter.used, meter.size)}",
        speculation_text(chat.loaded.engine),
        chat.loaded.title,
    ]
    if chat.attachments:
        parts.insert(0, f"{len(chat.attachments)} file{'s' if len(chat.attachments) > 1 else ''} attached")
    return " · ".join(parts)


def _welcome(chat: Chat) -> None:
    loaded = chat.require_loaded()
    chat.view.note(f"{loaded.title} · context {chat.meter.size} · {speculation_text(loaded.engine)}")
    turns = chat.conversation.turns
    if turns:
        count = f"{len(turns)} turn{'s' if len(turns) != 1 else ''}"
        chat.view.note(f"session {chat.session.name}: {count}, going on")
    if not chat.terminal.is_interactive:
        return
    if turns:
        show_history(chat, last=1)
    if chat.conversation.pending is not None:
        chat.view.note("the last message was not answered; /retry answers it")
    if not turns:
        chat.view.note('/help lists the commands · Alt-Enter or """ for several lines · Ctrl-D leaves')


@contextmanager
def _interrupts() -> Iterator[Interruption]:
    with listening_for_interrupt() as interruption:
        yield interruption
