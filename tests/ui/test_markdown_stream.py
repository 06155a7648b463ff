"""Markdown as it streams: what stands on the screen, and that it never depends on how the text was cut."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from specdec_cli.ui.markdown_stream import MarkdownStream
from tests.support.screen import screen

DOCUMENT = """# Rivers

A **river** flows; see `flow()` and [the sea](http://sea.example), *slowly*.
It is 2 * 3 snake_case_words wide, and __init__ is not **bold at all.

- first item, which is so long that it has to be wrapped somewhere on this line, is it not
  - nested `code`
* star

1. one
10) ten

> quoted words

```python
def flow(speed):
    return f"{speed} m/s"  # a comment that is longer than the terminal is wide, so that it wraps
```

| name | length |
|------|-------:|
| Rhine | 1233 |
| **Po** | 652 |

---
the end
"""


def draw(pieces: list[str], columns: int = 60, colour: bool = True) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream,
        force_terminal=colour,
        color_system="standard" if colour else None,
        width=columns,
        highlight=False,
        emoji=False,
    )
    markdown = MarkdownStream(console, lambda: columns)
    for piece in pieces:
        markdown.push(piece)
    markdown.finish()
    return stream.getvalue()


def lines(text: str, columns: int = 60) -> list[str]:
    return screen(draw([text], columns), columns)


def test_a_document_as_a_person_sees_it() -> None:
    assert lines(DOCUMENT) == [
        "Rivers",
        "",
        "A river flows; see flow() and the sea (http://sea.example),",
        "slowly.",
        "It is 2 * 3 snake_case_words wide, and init is not **bold at",
        "all.",
        "",
        "• first item, which is so long that it has to be wrapped",
        "  somewhere on this line, is it not",
        "  • nested code",
        "• star",
        "",
        "1. one",
        "10) ten",
        "",
        "▌ quoted words",
        "",
        "```python",
        "def flow(speed):",
        '    return f"{speed} m/s"  # a comment that is longer than t',
        "he terminal is wide, so that it wraps",
        "```",
        "",
        "name    length",
        "──────────────",
        "Rhine     1233",
        "Po         652",
        "",
        "─" * 60,
        "the end",
        "",
    ]


def test_styles_are_on_the_right_words() -> None:
    output = draw(["a **bold** `code` word\n# title\n"])
    assert "\x1b[1mbold\x1b[0m" in output
    assert "\x1b[36mcode\x1b[0m" in output
    assert "\x1b[1;35mtitle\x1b[0m" in output


def test_code_is_highlighted_once_a_line_is_whole() -> None:
    output = draw(["```python\nif x", " == 1:\n", "```\n"])
    assert "if x == 1:\r\x1b[J" in output  # as it came, then again in colours
    assert "\x1b[94mif" in output
    assert screen(output) == ["```python", "if x == 1:", "```", ""]


def test_without_colours_nothing_is_rewritten() -> None:
    output = draw([DOCUMENT], colour=False)
    assert "\x1b" not in output
    assert screen(output, 60) == lines(DOCUMENT)


def test_nothing_waits_longer_than_its_word() -> None:
    stream = io.StringIO()
    markdown = MarkdownStream(Console(file=stream, width=60), lambda: 60)
    markdown.push("The river flo")
    assert stream.getvalue() == "The river"
    markdown.push("ws **to")
    assert stream.getvalue() == "The river flows"
    markdown.push(" sea** and")
    assert stream.getvalue() == "The river flows to sea"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**never closed", "**never closed"),
        ("`never closed", "`never closed"),
        ("a * b * c", "a * b * c"),
        ("f(*args, **kwargs)", "f(*args, **kwargs)"),
        ("[no link] (here)", "[no link] (here)"),
        ("![a picture](p.png)", "a picture (p.png)"),
        (r"\(x\) and \*star\*", r"\(x\) and *star*"),
        ("#hashtag", "#hashtag"),
        ("-dash", "-dash"),
        ("3.14 is pi", "3.14 is pi"),
        ("||", "||"),
        ("| not a table", "| not a table"),
        ("~~gone~~ ~tilde~", "gone ~tilde~"),
        ("***both***", "both"),
        ("```\nopen block", "```\nopen block"),
        ("a\n\n\n\nb", "a\n\nb"),
        ("강물은 바다로 흐른다 🌊", "강물은 바다로 흐른다 🌊"),
    ],
)
def test_what_looks_like_markdown_and_is_not(text: str, shown: str) -> None:
    assert lines(text) == [*shown.split("\n"), ""]


def test_words_without_spaces_are_cut_and_wide_characters_wrap() -> None:
    assert lines("x" * 130)[:3] == ["x" * 60, "x" * 60, "x" * 10]
    assert all(len(line) <= 30 for line in lines("水" * 70))


def test_a_mark_that_stays_open_does_not_hold_the_answer_for_ever() -> None:
    stream = io.StringIO()
    markdown = MarkdownStream(Console(file=stream, width=60), lambda: 60)
    markdown.push("*open " + "word " * 60)
    assert len(stream.getvalue()) > 200


MARKS = st.sampled_from(
    [
        "*",
        "**",
        "_",
        "`",
        "```",
        "\n",
        "\n\n",
        "# ",
        "- ",
        "1. ",
        "> ",
        "|",
        "|-|-|\n",
        "[a](b)",
        "!",
        "\\",
        "---",
    ]
)
TEXTS = st.lists(st.one_of(MARKS, st.text("ab _*`水\n", max_size=8), st.sampled_from(DOCUMENT.split(" "))))


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.data())
def test_how_the_text_is_cut_does_not_matter(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    size = data.draw(st.integers(1, 7))
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert screen(draw(pieces), 60) == screen(draw([text]), 60)


@settings(max_examples=100, deadline=None)
@given(st.text("abc de\n", max_size=300))
def test_no_word_is_lost(text: str) -> None:
    assert " ".join(lines(text)).split() == text.split()
