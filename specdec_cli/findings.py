"""A finding: one thing that preflight, or a run, has to say about a pair, a file or a machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Finding:
    """One line of a report, with a stable dotted code (`vocab.token_text`) and, if there is one, a way out."""

    level: Level
    code: str
    message: str
    hint: str | None = None
    overridable: bool = True
    """Whether `--force` may go on in spite of an error: False for what would crash natively."""
