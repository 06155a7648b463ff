"""A conversation as a JSON document: what a session file holds and what `/export json` writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

from specdec_cli.chat.conversation import Conversation, Figures, Turn
from specdec_cli.engine.generation import FinishReason
from specdec_cli.errors import SpecdecError

SCHEMA = 1


@dataclass(frozen=True)
class SavedChat:
    """Everything needed to go on with a chat in another process."""

    conversation: Conversation
    models: Mapping[str, str] = field(default_factory=dict)
    """What was loaded, as typed: `pair`, or `target` and `draft`."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """What was changed with `/set` and `/spec`, as typed."""


class NewerDocument(SpecdecError):
    """Written by a later version of specdec: whole, but not for us."""


def to_document(chat: SavedChat) -> dict[str, Any]:
    """JSON values only."""
    conversation = chat.conversation
    return {
        "schema": SCHEMA,
        "models": dict(chat.models),
        "settings": dict(chat.settings),
        "system": conversation.system,
        "dropped": conversation.dropped,
        "summary": conversation.summary,
        "turns": [_turn_document(turn) for turn in conversation.turns],
    }


def from_document(document: object) -> SavedChat:
    """The chat a document describes. Raises `ValueError` for what is none, `NewerDocument` for a later schema."""
    table = _table(document)
    schema = table.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise NewerDocument(f"it was written by a newer specdec (schema {schema})", hint="update specdec")
    if schema != SCHEMA:
        raise ValueError("it is not a chat of specdec")
    turns = tuple(_turn(_table(entry)) for entry in _list(table.get("turns")))
    if any(not turn.is_answered for turn in turns[:-1]):
        raise ValueError("a turn in the middle has no answer")
    dropped = table.get("dropped", 0)
    if not isinstance(dropped, int) or not 0 <= dropped <= max(len(turns) - 1, 0):
        raise ValueError("dropped is out of range")
    system = table.get("system")
    return SavedChat(
        conversation=Conversation(
            system=None if system is None else _text(system),
            turns=turns,
            dropped=dropped,
            summary=_text(table.get("summary", "")),
        ),
        models={name: _text(value) for name, value in _table(table.get("models", {})).items()},
        settings={name: _text(value) for name, value in _table(table.get("settings", {})).items()},
    )


def _turn_document(turn: Turn) -> dict[str, Any]:
    document = asdict(turn)
    if not turn.is_answered:
        return {"user": turn.user}
    return document


def _turn(table: Mapping[str, Any]) -> Turn:
    answer = table.get("answer")
    if answer is None:
        return Turn(_text(table.get("user")))
    reason = table.get("finish_reason")
    if reason is not None and reason not in get_args(FinishReason):
        raise ValueError(f"{reason!r} is no reason to finish")
    return Turn(
        user=_text(table.get("user")),
        answer=_text(answer),
        thinking_opened=bool(table.get("thinking_opened")),
        finish_reason=reason,
        figures=_figures(_table(table.get("figures", {}))),
        model=_text(table.get("model", "")),
    )


def _figures(table: Mapping[str, Any]) -> Figures:
    known = {name: value for name, value in table.items() if name in Figures.__dataclass_fields__}
    for name, value in known.items():
        if isinstance(value, bool) or not (
            isinstance(value, int | float) or (name == "gain" and value is None)
        ):
            raise ValueError(f"{name} is no number")
    return Figures(**known)


def _table(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a table is missing")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("a list is missing")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a text is missing")
    return value
