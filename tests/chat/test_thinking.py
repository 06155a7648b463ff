"""Thinking apart from answering, however the stream is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_cli.chat.thinking import Said, ThinkingSplitter, prompt_opens_thinking, split_thinking


@pytest.mark.parametrize(
    ("text", "opened", "said"),
    [
        ("plain", False, Said("", "plain")),
        ("<think>\nso\n</think>\n\nfine", False, Said("so", "fine")),
        ("\n <think>so</think>fine", False, Said("so", "fine")),
        ("so\n</think>\n\nfine", True, Said("so", "fine")),
        ("<think>never closed", False, Said("never closed", "")),
        ("<think>", False, Said("", "")),
        ("<thi", False, Said("", "<thi")),
        ("fine, <think>not this</think>", False, Said("", "fine, <think>not this</think>")),
        ("<think>a < b </thin </think>c", False, Said("a < b </thin ", "c")),
        ("", False, Said("", "")),
        ("  spaces stay", False, Said("", "  spaces stay")),
    ],
)
def test_what_is_thinking(text: str, opened: bool, said: Said) -> None:
    assert split_thinking(text, opened) == said


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<", "think", ">", "\n", "word ", "</"]), max_size=12),
    st.booleans(),
    st.integers(1, 5),
)
def test_how_the_stream_is_cut_does_not_matter(parts: list[str], opened: bool, size: int) -> None:
    text = "".join(parts)
    splitter = ThinkingSplitter(opened)
    pieces = [part for at in range(0, len(text), size) for part in splitter.push(text[at : at + size])]
    pieces += splitter.finish()
    thinking = "".join(part for kind, part in pieces if kind == "thinking")
    assert not thinking.startswith("\n")
    thinking = thinking.strip("\n")
    answer = "".join(part for kind, part in pieces if kind == "answer")
    assert Said(thinking, answer) == split_thinking(text, opened)


def test_a_prompt_that_opens_thinking() -> None:
    assert prompt_opens_thinking("<|im_start|>assistant\n<think>\n")
    assert not prompt_opens_thinking("<|im_start|>assistant\n")
