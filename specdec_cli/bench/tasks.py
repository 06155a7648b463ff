"""The built-in tasks and their prompts: real text, the same for everybody."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from math import gcd
from pathlib import Path

from specdec_cli.errors import UsageProblem

_FOLDER = Path(__file__).with_name("prompts")
TASKS = ("code", "chat", "edit", "summarize", "json", "creative")
WARM_UP = "Count from one to twenty in words, and say which of these numbers are prime."
"""Answered by every variant before anything is measured; in no task."""


def parse_tasks(text: str) -> tuple[str, ...]:
    """Task names separated by commas, each once, in the order given. Raises `UsageProblem` naming them all."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in TASKS]
    if unknown or not names:
        raise UsageProblem(
            f"--tasks: there is no task called {(unknown or [''])[0]!r}", hint="some of " + ",".join(TASKS)
        )
    return names


def prompts_of(task: str) -> tuple[str, ...]:
    """All prompts of a task. Those about a document pair each document with each instruction once, and
    neighbours differ in both."""
    content = _read(task)
    texts: Sequence[str] = [entry["text"] for entry in content.get("prompt", [])]
    if texts:
        return tuple(texts)
    documents = [entry["text"] for entry in content["document"]]
    instructions = [entry["text"] for entry in content["instruction"]]
    assert gcd(len(documents), len(instructions)) == 1
    return tuple(
        instructions[index % len(instructions)].replace("{document}", documents[index % len(documents)])
        for index in range(len(documents) * len(instructions))
    )


def most_runs(tasks: Sequence[str]) -> int:
    """How many runs have a fresh prompt in every task."""
    return min(len(prompts_of(task)) for task in tasks)


@cache
def _read(task: str) -> dict[str, list[dict[str, str]]]:
    return tomllib.loads((_FOLDER / f"{task}.toml").read_text(encoding="utf-8"))
