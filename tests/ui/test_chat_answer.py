"""One answer on the screen: thinking dimmed, folded or as it is; control characters made visible."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from specdec_cli.ui.chat_answer import AnswerView
from specdec_cli.ui.chat_text import figures_line, meter_bar, meter_text, two_columns, visible
from tests.support.screen import screen


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def draw(
    *parts: tuple[str, str],
    terminal: bool = True,
    markdown: bool = True,
    show_accepted: bool = False,
    show_thinking: bool = True,
) -> str:
    stream = Tty() if terminal else io.StringIO()
    console = Console(
        file=stream, force_terminal=terminal, color_system="standard", width=40, highlight=False
    )
    view = AnswerView(
        stream,
        console,
        lambda: 40,
        markdown=markdown,
        show_accepted=show_accepted,
        show_thinking=show_thinking,
    )
    for part, text in parts:
        view.write("thinking" if part == "thinking" else "answer", text, part == "drafted")
    view.close()
    return stream.getvalue()


THOUGHT = (("thinking", "let me "), ("thinking", "see\nand look"), ("answer", "**yes**"))


def test_thinking_is_dimmed_and_set_apart() -> None:
    output = draw(*THOUGHT)
    assert screen(output, 40) == ["let me see", "and look", "", "yes", ""]
    assert "\x1b[2;3m" in output


def test_folded_thinking_leaves_no_trace() -> None:
    output = draw(*THOUGHT, show_thinking=False)
    assert "thinking … 2 words" in output
    assert screen(output, 40) == ["yes", ""]


def test_raw_output_is_what_the_model_said() -> None:
    assert (
        draw(*THOUGHT, terminal=False, markdown=False)
        == "<think>\nlet me see\nand look\n</think>\n\n**yes**\n"
    )
    assert draw(*THOUGHT, terminal=False, markdown=False, show_thinking=False) == "**yes**\n"
    assert draw(("answer", "**yes**"), markdown=False) == "**yes**\n"


def test_accepted_text_stands_out() -> None:
    output = draw(("answer", "one "), ("drafted", "two"), show_accepted=True)
    assert output == "one \x1b[32;4mtwo\x1b[39;24m\n"


def test_only_thinking_and_nothing_at_all() -> None:
    assert screen(draw(("thinking", "hm")), 40) == ["hm", "", ""]
    assert draw() == ""
    assert draw(terminal=False, markdown=False) == "\n"


@pytest.mark.parametrize("letter", ["\x1b", "\x07", "\r", "\x9b", "\x7f", "\x00"])
def test_no_control_character_reaches_the_terminal(letter: str) -> None:
    assert letter not in visible(f"a{letter}b")
    assert f"a{letter}[2Jb" not in draw(("answer", f"a{letter}[2Jb"))
    assert letter in draw(("answer", f"a{letter}b"), terminal=False, markdown=False)


def test_lines_of_figures() -> None:
    line = figures_line(
        tokens=1,
        tokens_per_second=12.34,
        acceptance=0.5,
        gain=1.234,
        speculation="off",
        context=meter_text(512, 1024),
    )
    assert line == "1 token · 12.3 tok/s · 50% accepted · 1.23× plain · context 512/1024 (50%)"
    assert meter_bar(512, 1024) == "▰▰▰▰▰▱▱▱▱▱"
    assert meter_bar(0, 0) == "▱▱▱▱▱▱▱▱▱▱"


def test_columns_wrap_inside_the_terminal() -> None:
    lines = two_columns([("/a", "short"), ("/longer", "words " * 20)], 40)
    assert lines[0] == "  /a       short"
    assert lines[2].startswith("           words")
    assert all(len(line) <= 40 for line in lines)
