"""Rules of a grammar as values, and errors that say where in its text something is wrong."""

from __future__ import annotations

from dataclasses import dataclass

from specdec_cli.errors import UsageProblem


@dataclass(frozen=True)
class Characters:
    """A literal, a character class or `.`: `length` characters of text, written as `elements` by llama.cpp."""

    length: int
    elements: int
    excludes_wide: bool = False
    """Whether it is a class that names characters of several bytes as those that do not fit."""


@dataclass(frozen=True)
class Reference:
    """Another rule by its name. `offset`: its place in the text."""

    name: str
    offset: int


@dataclass(frozen=True)
class Group:
    """Alternatives in parentheses."""

    alternatives: Alternatives


@dataclass(frozen=True)
class Repetition:
    """`node`, from `least` to `most` times; `most` None: without end."""

    node: Node
    least: int
    most: int | None
    offset: int


Node = Characters | Reference | Group | Repetition
Alternatives = tuple[tuple[Node, ...], ...]


@dataclass(frozen=True)
class Rule:
    """`name ::= alternatives`."""

    name: str
    offset: int
    alternatives: Alternatives


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Both from 1, in characters."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


class GrammarProblem(UsageProblem):
    """A grammar that cannot be used. `reason` is the message without the place."""

    def __init__(self, reason: str, *, hint: str | None = None, place: str = "") -> None:
        super().__init__(place + reason, hint=hint)
        self.reason = reason


def problem_at(text: str, offset: int, reason: str, hint: str | None = None) -> GrammarProblem:
    """The error that says where in the grammar something is wrong."""
    line, column = line_and_column(text, offset)
    return GrammarProblem(reason, hint=hint, place=f"grammar, line {line}, column {column}: ")
