"""Thinking apart from answering: `<think> … </think>` at the beginning of what a model says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OPEN, CLOSE = "<think>", "</think>"
Kind = Literal["thinking", "answer"]


@dataclass(frozen=True)
class Said:
    """What a model said, in two parts."""

    thinking: str
    answer: str


class ThinkingSplitter:
    """Sorts text as it streams. Only a block that opens the answer is thinking; tags may come torn apart."""

    def __init__(self, opened: bool = False) -> None:
        """`opened`: the prompt already ended with `<think>`."""
        self._state: Literal["start", "thinking", "after", "answer"] = "thinking" if opened else "start"
        self._held = ""
        self._thought = False

    def push(self, text: str) -> list[tuple[Kind, str]]:
        """The parts that this text makes certain, in order."""
        self._held += text
        parts: list[tuple[Kind, str]] = []
        while self._step(parts):
            pass
        return parts

    def finish(self) -> list[tuple[Kind, str]]:
        """What was held back because it could have been a tag."""
        held, self._held = self._held, ""
        if not held or self._state == "after":
            return []
        return [("thinking" if self._state == "thinking" else "answer", held)]

    def _step(self, parts: list[tuple[Kind, str]]) -> bool:
        """One move of the state machine; False when more text is needed."""
        if self._state == "start":
            text = self._held.lstrip()
            if text.startswith(OPEN):
                self._state, self._held = "thinking", text[len(OPEN) :]
                return True
            if OPEN.startswith(text):
                return False
            self._state = "answer"
        if self._state == "thinking":
            if not self._thought:
                self._held = self._held.lstrip("\n")
            before, found, after = self._held.partition(CLOSE)
            if found:
                self._state, self._held = "after", after
            else:
                keep = _possible_tag(before)
                before, self._held = before[: len(before) - keep], before[len(before) - keep :]
            if before:
                parts.append(("thinking", before))
                self._thought = True
            return bool(found)
        if self._state == "after":
            # The blank line between thinking and answer belongs to neither.
            self._held = self._held.lstrip("\n")
            if not self._held:
                return False
            self._state = "answer"
        if self._held:
            parts.append(("answer", self._held))
            self._held = ""
        return False


def split_thinking(text: str, opened: bool = False) -> Said:
    """A whole answer in its two parts."""
    splitter = ThinkingSplitter(opened)
    parts = [*splitter.push(text), *splitter.finish()]
    return Said(
        thinking="".join(part for kind, part in parts if kind == "thinking").strip("\n"),
        answer="".join(part for kind, part in parts if kind == "answer"),
    )


def prompt_opens_thinking(prompt: str) -> bool:
    """Whether a rendered prompt leaves the model inside a thinking block."""
    return prompt.rstrip().endswith(OPEN)


def _possible_tag(text: str) -> int:
    """Length of the longest end of `text` that may be the beginning of the closing tag."""
    return next((size for size in range(len(CLOSE) - 1, 0, -1) if text.endswith(CLOSE[:size])), 0)
