"""Files whose text goes into a message, and files that a conversation is written to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

from specdec_cli.chat.conversation import Conversation
from specdec_cli.chat.session_document import SavedChat, to_document
from specdec_cli.chat.thinking import split_thinking
from specdec_cli.errors import SpecdecError

_LARGEST = 16 << 20
ExportFormat = Literal["md", "json"]


def typed_path(text: str) -> Path:
    """A path as typed: quotes around it and `~` are understood."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return Path(os.path.expandvars(text)).expanduser()


def read_text(path: Path) -> str:
    """The text of a file. Raises `SpecdecError` for what is no readable text."""
    try:
        if path.stat().st_size > _LARGEST:
            raise SpecdecError(f"{path} is larger than {_LARGEST >> 20} MiB")
        data = path.read_bytes()
    except OSError as error:
        raise SpecdecError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecdecError(f"{path} is no UTF-8 text: it looks binary") from error
    if "\0" in text:
        raise SpecdecError(f"{path} is no text: it looks binary")
    if not text.strip():
        raise SpecdecError(f"{path} is empty")
    return text


def as_attachment(path: Path, text: str) -> str:
    """How a file stands in a message. The fence is longer than any in the file."""
    fence = "```"
    while fence in text:
        fence += "`"
    ending = "" if text.endswith("\n") else "\n"
    return f"File `{path.name}`:\n{fence}\n{text}{ending}{fence}"


def export(chat: SavedChat, kind: ExportFormat, path: Path, name: str) -> None:
    """Write the conversation to a new file. Raises `SpecdecError`; a file that is there is not overwritten."""
    if kind == "json":
        text = json.dumps(to_document(chat), ensure_ascii=False, indent=2) + "\n"
    else:
        text = as_markdown(chat.conversation, name)
    try:
        with path.open("x", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except FileExistsError as error:
        raise SpecdecError(f"{path} exists already", hint=f"/export {kind} OTHER-NAME") from error
    except OSError as error:
        raise SpecdecError(f"{path} cannot be written: {error.strerror or error}") from error


def as_markdown(conversation: Conversation, name: str) -> str:
    """The conversation to read; thinking is left out."""
    parts = [f"# {name}\n"]
    if conversation.system:
        parts.append(f"## System\n\n{conversation.system}\n")
    for turn in conversation.turns:
        parts.append(f"## User\n\n{turn.user}\n")
        if turn.answer is not None:
            model = f" ({turn.model})" if turn.model else ""
            said = split_thinking(turn.answer, turn.thinking_opened)
            parts.append(f"## Assistant{model}\n\n{said.answer.strip()}\n")
    return "\n".join(parts)
