"""The small pieces of a chat: pastes, blocks, the clipboard, the context budget, the pace of plain decoding."""

from __future__ import annotations

import base64
import io
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_cli.chat import clipboard
from specdec_cli.chat.context_budget import Meter, answer_room, cannot_fit, turns_to_drop
from specdec_cli.chat.conversation import Conversation, Turn
from specdec_cli.chat.input_text import clean_message, is_open_block
from specdec_cli.chat.pace import PlainPace
from specdec_cli.chat.pasting import Pastes, has_mark
from specdec_cli.draft.values import Draft, Outcome
from specdec_cli.errors import SpecdecError


def test_short_pastes_stand_as_they_are() -> None:
    pastes = Pastes()
    assert pastes.take("a\r\nb\rc") == "a\nb\nc"
    assert pastes.expand("see [paste 1: 3 lines, 5 characters]") == "see [paste 1: 3 lines, 5 characters]"


def test_long_pastes_are_marks_that_go_out_whole() -> None:
    pastes = Pastes()
    first, second = pastes.take("x" * 5000), pastes.take("y\n" * 40)
    assert first == "[paste 1: 1 line, 5,000 characters]"
    assert has_mark(f"a {first}")
    assert pastes.expand(f"{second} and {first}") == "y\n" * 40 + " and " + "x" * 5000


def test_old_pastes_are_forgotten_before_memory_fills() -> None:
    pastes = Pastes()
    marks = [pastes.take("x" * (20 << 20)) for _ in range(3)]
    assert pastes.expand(marks[0]) == marks[0]
    assert len(pastes.expand(marks[2])) == 20 << 20


@pytest.mark.parametrize(
    ("typed", "is_open", "message"),
    [
        ('"""', True, '"""'),
        ('"""a', True, '"""a'),
        ('"""a\n  b\n"""', False, "a\n  b"),
        ('"""a"""', False, "a"),
        ('a """ b', False, 'a """ b'),
        ("  indented\nsecond  ", False, "  indented\nsecond"),
        ("  /help", False, "/help"),
        ("a\r\nb", False, "a\nb"),
        ("broken \udc80 input", False, "broken � input"),
        ("whole 🤖", False, "whole 🤖"),
    ],
)
def test_messages_as_typed(typed: str, is_open: bool, message: str) -> None:
    assert is_open_block(typed) == is_open
    assert clean_message(typed) == message


@given(st.text())
def test_any_message_can_be_encoded(text: str) -> None:
    clean_message(text).encode("utf-8")


def conversation(*sizes: int) -> Conversation:
    return Conversation(turns=(*(Turn("x" * size, "") for size in sizes[:-1]), Turn("x" * sizes[-1])))


def tokens(value: Conversation) -> int:
    return sum(len(turn.user) for turn in value.sent)


def test_as_few_turns_are_dropped_as_leave_room() -> None:
    assert turns_to_drop(conversation(100, 100, 100, 100), tokens, 400) == 2
    assert turns_to_drop(conversation(300, 10, 100), tokens, 400) == 1
    assert turns_to_drop(conversation(10, 10, 360), tokens, 400) == 2
    assert turns_to_drop(conversation(10, 10, 390), tokens, 400) is None
    assert turns_to_drop(conversation(500), tokens, 400) is None


@given(st.lists(st.integers(1, 120), min_size=1, max_size=12), st.integers(64, 600))
def test_what_is_left_fits_and_the_last_turn_stays(sizes: list[int], n_ctx: int) -> None:
    value = conversation(*sizes)
    count = turns_to_drop(value, tokens, n_ctx)
    if count is None:
        assert len(sizes) == 1 or sizes[-1] + answer_room(n_ctx) > n_ctx
        return
    shorter = value.dropping(count)
    assert shorter.sent[-1] == value.turns[-1]
    assert tokens(shorter) + answer_room(n_ctx) <= n_ctx
    assert shorter.turns == value.turns


def test_the_meter_warns_at_four_fifths() -> None:
    assert not Meter(799, 1000).is_nearly_full
    assert Meter(800, 1000).is_nearly_full
    assert Meter(0, 0).fraction == 0
    assert cannot_fit("a" * 40_000, 1024)
    assert not cannot_fit("a" * 30_000, 1024)


def test_dropping_undoing_and_asking_keep_all_turns() -> None:
    value = conversation(1, 2, 3).answering(Turn("xxx", "c")).dropping(2, "met")
    assert len(value.sent) == 1
    assert len(value.without_last().sent) == 1
    assert value.asking("more").asking("other").turns[-1].user == "other"
    assert len(value.asking("more").asking("other").turns) == 4
    assert value.dropping(0).summary == "met"


def test_a_gain_needs_enough_plain_rounds() -> None:
    pace = PlainPace()
    drafted = Outcome(Draft.chain([1]), (0,), (1, 2), target_seconds=9.0)
    plain = Outcome(Draft(), (), (1,), target_seconds=0.1)
    for _ in range(7):
        pace.hear(plain)
        pace.hear(drafted)
    assert pace.gain(10, 1.0) is None
    pace.hear(plain)
    assert pace.gain(20, 1.0) == pytest.approx(2.0)
    assert pace.gain(20, 0.0) is None


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_copying_through_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "somewhere")
    screen = Tty()
    assert clipboard.copy_text("héllo", screen) == "the terminal"
    assert screen.getvalue() == f"\x1b]52;c;{base64.b64encode('héllo'.encode()).decode()}\x07"
    with pytest.raises(SpecdecError, match="no clipboard"):
        clipboard.copy_text("x" * 80_000, Tty())
    with pytest.raises(SpecdecError, match="no clipboard"):
        clipboard.copy_text("x", io.StringIO())


@pytest.mark.parametrize(
    ("platform", "tool"), [("darwin", "pbcopy"), ("win32", "clip"), ("linux", "wl-copy")]
)
def test_copying_by_the_systems_own_tool(monkeypatch: pytest.MonkeyPatch, platform: str, tool: str) -> None:
    ran: list[tuple[list[str], bytes]] = []

    def run(command: list[str], *, input: bytes, **_options: Any) -> Any:
        ran.append((command, input))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    monkeypatch.setattr(clipboard.sys, "platform", platform)  # type: ignore[attr-defined]
    monkeypatch.setattr("shutil.which", lambda name: name)
    monkeypatch.setattr("subprocess.run", run)
    assert clipboard.copy_text("é", io.StringIO()) == tool
    assert ran == [([tool], "é".encode("utf-16" if tool == "clip" else "utf-8"))]
    monkeypatch.setattr("subprocess.run", lambda command, **_options: subprocess.CompletedProcess(command, 1))
    with pytest.raises(SpecdecError):
        clipboard.copy_text("é", io.StringIO())
