"""The chat in a real pseudo-terminal: typing, pasting, stopping, resizing, leaving, coming back."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from specdec_cli.chat.folders import history_file
from tests.support.chats import saved
from tests.support.tiny_models import write_tiny_model

pexpect = pytest.importorskip("pexpect")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX pseudo-terminal")

PROGRAM = Path(__file__).parents[1] / "support" / "chat_program.py"
ALT_ENTER, CTRL_C, CTRL_D, UP = "\x1b\r", "\x03", "\x04", "\x1b[A"
PASTE, PASTED = "\x1b[200~", "\x1b[201~"
LONG = " ".join(f"word{number}" for number in range(400))
DONE = r"tok/s"


class Terminal:
    """A person with a keyboard and a screen of 80 columns."""

    def __init__(self, command: list[str], columns: int = 80) -> None:
        environment = {
            **os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", "COLUMNS": "", "LINES": ""
        }  # fmt: skip
        environment = {name: value for name, value in environment.items() if value}
        self.child = pexpect.spawn(
            sys.executable, command, env=environment, dimensions=(24, columns), encoding="utf-8", timeout=30
        )

    def sees(self, pattern: str) -> str:
        """Wait for it; returns what came before."""
        self.child.expect(pattern)
        return str(self.child.before)

    def ready(self) -> None:
        """The prompt is there and keys arrive (bracketed paste is switched on then)."""
        self.sees(r"\x1b\[\?2004h")

    def types(self, text: str) -> None:
        self.child.send(text)

    def says(self, line: str) -> None:
        self.types(line + "\r")

    def ends(self) -> int:
        self.child.expect(pexpect.EOF)
        self.child.wait()
        return int(self.child.exitstatus if self.child.exitstatus is not None else -self.child.signalstatus)


Open = Callable[..., Terminal]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Open]:
    target = write_tiny_model(tmp_path / "target.gguf")
    opened: list[Terminal] = []

    def start(answers: list[str], *options: str, delay: float = 0.0, columns: int = 80) -> Terminal:
        command = [str(PROGRAM), json.dumps(answers), str(delay), "chat", "--target", str(target)]
        opened.append(Terminal([*command, "--drafter", "none", *options], columns))
        return opened[-1]

    yield start
    for one in opened:
        one.child.close(force=True)


def test_a_message_an_answer_a_command_and_leaving(terminal: Open) -> None:
    person = terminal(["It is **wide**."])
    person.ready()
    person.says("how wide is it")
    assert "\x1b[1mwide" in person.sees(DONE)
    person.ready()
    person.says("/system")
    person.sees("system prompt: none")
    person.ready()
    person.types(CTRL_D)
    person.sees("specdec chat --resume")
    assert person.ends() == 0
    (turn,) = saved().conversation.turns
    assert (turn.user, turn.answer) == ("how wide is it", "It is **wide**.")


def test_several_lines_by_alt_enter_by_quotes_and_by_paste(terminal: Open) -> None:
    person = terminal(["one", "two", "three"])
    person.ready()
    person.types("first" + ALT_ENTER + "second\r")
    person.sees(DONE)
    person.ready()
    for line in ('"""', "def f():", "", "    return 1", '"""'):
        person.types(line + "\r")
        time.sleep(0.05)
    person.sees(DONE)
    person.ready()
    person.types(PASTE + "pasted\n\n  text" + PASTED)
    person.types(" and typed\r")
    person.sees(DONE)
    person.ready()
    person.says("/exit")
    assert person.ends() == 0
    assert [turn.user for turn in saved().conversation.turns] == [
        "first\nsecond",
        "def f():\n\n    return 1",
        "pasted\n\n  text and typed",
    ]


def test_a_long_paste_stands_as_one_mark_and_goes_out_whole(terminal: Open) -> None:
    person = terminal(["fine"], "--ctx", "8192")
    person.ready()
    person.types(PASTE + "line\n" * 200 + PASTED)
    person.sees(r"\[paste 1: 201 lines, 1,000 characters\]")
    person.types("count\r")
    person.sees(DONE)
    person.ready()
    person.types(CTRL_D)
    assert person.ends() == 0
    assert saved().conversation.turns[0].user == "line\n" * 200 + "count"


def test_a_paste_of_ten_megabytes_is_one_clear_line(terminal: Open) -> None:
    person = terminal(["fine"])
    person.ready()
    person.child.delaybeforesend = None
    person.types(PASTE)
    for _ in range(1000):
        person.types("all work and no play\n" * 500)
    person.types(PASTED)
    person.sees(r"\[paste 1: 500,001 lines, 10,500,000 characters\]")
    person.types("\r")
    person.sees("far more than a context")
    person.ready()
    person.says("still alive")
    person.sees("fine")
    person.ready()
    person.types(CTRL_D)
    assert person.ends() == 0


def test_ctrl_c_stops_the_answer_and_keeps_what_came(terminal: Open) -> None:
    person = terminal([LONG, "short"], delay=0.005)
    person.ready()
    person.says("talk")
    person.sees("word9 ")
    person.types(CTRL_C)
    person.sees("stopped; what came is kept")
    person.ready()
    person.says("go on")
    person.sees("short")
    person.ready()
    person.types(CTRL_C)
    time.sleep(0.2)
    person.types(CTRL_C)
    assert person.ends() == 0
    first, second = saved().conversation.turns
    assert first.answer is not None
    assert first.answer.startswith("word0 word1 ")
    assert LONG.startswith(first.answer)
    assert (first.finish_reason, second.answer) == ("interrupt", "short")


def test_ctrl_c_at_the_prompt_clears_the_line_first(terminal: Open) -> None:
    person = terminal(["fine"])
    person.ready()
    person.types("half a thought")
    person.sees("thought")
    person.types(CTRL_C)
    time.sleep(0.2)
    person.says("whole")
    person.sees("fine")
    person.ready()
    person.types(CTRL_D)
    assert person.ends() == 0
    assert saved().conversation.turns[0].user == "whole"


def test_what_is_typed_during_an_answer_waits_for_the_prompt(terminal: Open) -> None:
    person = terminal([LONG[:300], "second"], delay=0.003)
    person.ready()
    person.says("first")
    person.sees("word9 ")
    person.types("early\r")
    assert "early" not in person.sees(DONE)
    person.sees("early")
    person.sees("second")
    person.ready()
    person.types(CTRL_D)
    assert person.ends() == 0
    assert [turn.user for turn in saved().conversation.turns] == ["first", "early"]


def test_a_smaller_window_wraps_earlier(terminal: Open) -> None:
    person = terminal([LONG], delay=0.002)
    person.ready()
    person.says("talk")
    person.sees("word20 ")
    person.child.setwinsize(24, 40)
    person.sees("word60 ")
    after = person.sees("word120 ")
    lines = [re.sub(r"\x1b\[[0-9;?]*[a-z]", "", line) for line in after.split("\r\n")[1:-1]]
    assert lines
    assert all(len(line) <= 40 for line in lines)
    person.types(CTRL_C)
    person.ready()
    person.types(CTRL_D)
    assert person.ends() == 0


def test_killed_in_the_middle_of_an_answer_and_resumed(terminal: Open) -> None:
    person = terminal(["kept", LONG], delay=0.005)
    person.ready()
    person.says("first")
    person.sees(DONE)
    person.ready()
    person.says("second")
    person.sees("word9 ")
    person.child.kill(signal.SIGKILL)
    assert person.ends() == -signal.SIGKILL
    again = terminal(["and now"], "--resume")
    screen = again.sees("was not answered; /retry answers it")
    assert "second" in screen
    again.ready()
    again.says("/retry")
    again.sees("and now")
    again.ready()
    again.types(CTRL_D)
    assert again.ends() == 0
    assert [(turn.user, turn.answer) for turn in saved().conversation.turns] == [
        ("first", "kept"),
        ("second", "and now"),
    ]


def test_edit_puts_the_last_message_into_the_line(terminal: Open) -> None:
    person = terminal(["one", "two"])
    person.ready()
    person.says("hello")
    person.sees(DONE)
    person.ready()
    person.says("/edit")
    person.sees("hello")
    person.types(" there\r")
    person.sees("two")
    person.ready()
    person.types(CTRL_D)
    assert person.ends() == 0
    assert [turn.user for turn in saved().conversation.turns] == ["hello there"]


def test_commands_are_completed(terminal: Open, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("some text", encoding="utf-8")
    person = terminal(["fine"])
    person.ready()
    person.types("/stat")
    person.sees("this conversation in numbers")
    person.types("\t")
    person.sees("stats")  # chosen in the menu
    person.types("\r")
    person.sees("turns")
    person.ready()
    person.types(f"/file {tmp_path}/no")
    person.sees("notes.txt")  # offered below
    person.types("\t")
    person.sees(r"tes\.txt")
    person.types("\r")
    person.sees("will go out with the next message")
    person.ready()
    person.types(CTRL_D)
    assert person.ends() == 0


def test_lines_come_back_in_the_next_chat(terminal: Open) -> None:
    person = terminal(["one"])
    person.ready()
    person.says("a line to remember")
    person.sees(DONE)
    person.ready()
    person.types(CTRL_D)
    assert person.ends() == 0
    assert "a line to remember" in history_file().read_text(encoding="utf-8")
    again = terminal(["two"])
    again.ready()
    again.types(UP)
    again.sees("a line to remember")
    again.types("\r")
    again.sees("two")
    again.ready()
    again.types(CTRL_D)
    assert again.ends() == 0


def test_a_full_context_asks_what_to_leave_out(terminal: Open) -> None:
    person = terminal(["a" * 140, "b" * 140, "c"], "--ctx", "512")
    for message in ("one", "two"):
        person.ready()
        person.says(message)
        person.sees(DONE)
    person.ready()
    person.says("three " + "x" * 200)
    person.sees("What now")
    person.sees(r"1.*drop the oldest turns \(2 of 2\)")
    person.ready()
    person.says("drop")
    person.sees("2 oldest turns dropped")
    person.ready()
    person.types(CTRL_D)
    assert person.ends() == 0
    conversation = saved().conversation
    assert (len(conversation.turns), conversation.dropped) == (3, 2)


def test_nothing_a_model_says_steers_the_terminal(terminal: Open) -> None:
    person = terminal(["\x1b]0;title\x07\x1b[2Jgone"])
    person.ready()
    person.says("hello")
    shown = person.sees(DONE)
    assert "␛]0;title␇␛[2Jgone" in shown
    person.ready()
    person.types(CTRL_D)
    assert person.ends() == 0


def test_plain_shows_the_answer_as_it_is(terminal: Open) -> None:
    person = terminal(["a **b** `c`"], "--plain")
    person.ready()
    person.says("hello")
    assert "a **b** `c`" in person.sees(DONE)
    person.ready()
    person.types(CTRL_D)
    assert person.ends() == 0
