"""What a chat needs from outside: models to load, lines to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from specdec_cli.assemble import Engine
from specdec_cli.engine.generation import Generation


@dataclass(frozen=True)
class LoadedFile:
    """A model file in use."""

    path: Path
    size: int
    """Bytes when it was loaded."""


@dataclass(frozen=True)
class Loaded:
    """An engine and what it was loaded from."""

    engine: Engine
    title: str
    """For people: "SmolLM2 135M F16 + Q4_0"."""
    selection: Mapping[str, str]
    """How the user named the models: `pair`, or `target` and `draft`."""
    files: tuple[LoadedFile, ...]
    on_answer: Callable[[Generation, float], None]
    """Told of every answer when it has ended, and how many of its seconds went into showing it."""


class Prepared(Protocol):
    """Models that were found and compared, ready to be loaded."""

    def load(self) -> Loaded:
        """Load them. Raises `SpecdecError`, or `KeyboardInterrupt` when the user stops it; nothing is open then."""


class Models(Protocol):
    """The door to loading. Options are named as `EngineOptions` names them; None means "not given"."""

    def prepare(self, changes: Mapping[str, object]) -> Prepared:
        """The models in use with these options changed. Raises `SpecdecError`; nothing has changed then."""

    def option(self, name: str) -> object:
        """An option as it was typed for what is loaded."""

    def check(self) -> None:
        """Print the preflight report for the models in use."""

    def pair_names(self) -> list[str]:
        """Pairs that can be switched to."""


class Terminal(Protocol):
    """Where the user's words come from."""

    @property
    def is_interactive(self) -> bool:
        """Whether a person answers questions here."""

    def read(self, default: str = "") -> str:
        """The next message or command; `default` stands in the line already.

        Raises `EOFError` at the end, and `KeyboardInterrupt` when the user throws away what he typed.
        """

    def choose(self, question: str, choices: Mapping[str, str], default: str) -> str:
        """One key of `choices`, whose values say what they do; `default` where nobody answers."""

    def answering(self) -> Callable[[], None]:
        """Called when an answer begins; call the result when it ends. In between, typing is not shown."""
