"""Sessions on disk: whole or not at all, never another chat's words, and no damaged file is taken for a chat."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specdec_cli.chat.conversation import Conversation, Figures, Turn
from specdec_cli.chat.session_document import NewerDocument, SavedChat, from_document, to_document
from specdec_cli.chat.session_files import (
    CorruptSession,
    SessionFile,
    check_name,
    free_name,
    list_sessions,
    session_names,
)
from specdec_cli.errors import SpecdecError, UsageProblem

FIGURES = Figures(tokens=3, seconds=0.5, drafted=4, accepted=2, rounds=2, gain=1.5)
CHAT = SavedChat(
    Conversation(
        system="be kind",
        turns=(
            Turn("hi\n\ud83d", "hello 🤖", finish_reason="stop", figures=FIGURES, model="demo"),
            Turn("more", "so</think>yes", thinking_opened=True, finish_reason="interrupt"),
            Turn("last"),
        ),
        dropped=1,
        summary="they met",
    ),
    models={"pair": "demo"},
    settings={"temp": "0.8"},
)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    assert SessionFile(tmp_path / "deep" / "folder", "work").save(CHAT) is None
    assert SessionFile(tmp_path / "deep" / "folder", "work").load() == CHAT
    assert [path.name for path in (tmp_path / "deep" / "folder").iterdir()] == ["work.json"]


def test_no_file_is_no_chat(tmp_path: Path) -> None:
    assert SessionFile(tmp_path, "work").load() is None
    assert list(list_sessions(tmp_path / "missing")) == []


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"schema": 1}', b"\xff\xfe", b"[" * 100_000, b'{"schema": "1"}']
)
def test_a_damaged_file_is_kept_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "work.json").write_bytes(content)
    session = SessionFile(tmp_path, "work")
    with pytest.raises(CorruptSession, match=r"session work is damaged; it was kept as work.json.damaged-"):
        session.load()
    session.save(CHAT)
    kept = [path for path in tmp_path.iterdir() if "damaged" in path.name]
    assert [path.read_bytes() for path in kept] == [content]
    assert session_names(tmp_path) == ["work"]


def test_a_newer_file_is_left_alone(tmp_path: Path) -> None:
    text = json.dumps(to_document(CHAT) | {"schema": 2})
    (tmp_path / "work.json").write_text(text, encoding="utf-8")
    with pytest.raises(SpecdecError, match="newer specdec"):
        SessionFile(tmp_path, "work").load()
    assert (tmp_path / "work.json").read_text(encoding="utf-8") == text


def test_two_chats_on_one_session_both_keep_their_words(tmp_path: Path) -> None:
    first, second = SessionFile(tmp_path, "work"), SessionFile(tmp_path, "work")
    first.save(CHAT)
    second.load()
    other = replace(CHAT, conversation=CHAT.conversation.without_last())
    os.utime(first.path, ns=(1, 1))
    assert second.save(other) == "work-2"
    assert second.save(other) is None
    assert SessionFile(tmp_path, "work").load() == CHAT
    assert SessionFile(tmp_path, "work-2").load() == other


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = SessionFile(tmp_path, "work")
    session.save(CHAT)

    def no_space(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(SpecdecError, match=r"cannot be saved to .*No space left"):
        session.save(replace(CHAT, settings={}))
    assert SessionFile(tmp_path, "work").load() == CHAT
    assert len(list(tmp_path.iterdir())) == 1


def test_a_reader_on_windows_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []
    really = Path.replace

    def busy(path: Path, target: Path) -> Path:
        attempts.append(path)
        if len(attempts) < 3:
            raise PermissionError(13, "in use")
        return really(path, target)

    monkeypatch.setattr(Path, "replace", busy)
    SessionFile(tmp_path, "work").save(CHAT)
    assert len(attempts) == 3
    assert SessionFile(tmp_path, "work").load() == CHAT


@pytest.mark.parametrize(
    "name", ["", "../up", "a/b", "a\\b", "con", "NUL.txt", ".hidden", "end.", "x" * 65, "a:b"]
)
def test_names_that_cannot_be_files_everywhere(name: str) -> None:
    with pytest.raises(UsageProblem):
        check_name(name)


def test_names_that_can(tmp_path: Path) -> None:
    for name in ("work", "2026-11-29 notes", "Größe", "a.b"):
        assert check_name(name) == name
    SessionFile(tmp_path, "work").save(CHAT)
    SessionFile(tmp_path, "work-2").save(CHAT)
    assert free_name(tmp_path, "work") == "work-3"


def test_the_list_has_the_last_one_first_and_names_the_damaged(tmp_path: Path) -> None:
    for age, name in enumerate(("new", "old", "bad")):
        SessionFile(tmp_path, name).save(CHAT)
        os.utime(tmp_path / f"{name}.json", (1e9 - age, 1e9 - age))
    (tmp_path / "bad.json").write_text("{")
    os.utime(tmp_path / "bad.json", (5e8, 5e8))
    infos = list(list_sessions(tmp_path))
    assert [(info.name, info.chat == CHAT) for info in infos] == [
        ("new", True),
        ("old", True),
        ("bad", False),
    ]


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([*to_document(CHAT), "more"]),
    JSON,
    st.sampled_from(["answer", "user", "figures", "gain"]),
    JSON,
)
def test_any_document_is_a_chat_or_refused(key: str, value: Any, turn_key: str, turn_value: Any) -> None:
    document = json.loads(json.dumps(to_document(CHAT)))
    document["turns"][0][turn_key] = turn_value
    document[key] = value
    try:
        chat = from_document(document)
    except (ValueError, NewerDocument):
        return
    assert from_document(json.loads(json.dumps(to_document(chat)))) == chat
