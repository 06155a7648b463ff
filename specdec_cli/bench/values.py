"""What is measured, and what a measurement is. Seconds, tokens; frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from specdec_cli.settings import ContextSettings

Agreement = Literal["same", "tie", "different"]
"""Of two greedy answers: token for token the same; different from a token on whose rival had the same logit up to
rounding, which depends on the shape of the batch; or different, which lossless decoding must never be."""


@dataclass(frozen=True)
class Placement:
    """Which files run with which settings: everything a change of which needs new contexts."""

    target: Path
    draft: Path | None
    target_settings: ContextSettings
    draft_settings: ContextSettings
    explicit_ctx: bool = False


@dataclass(frozen=True)
class Variant:
    """One way to decode: a drafter and its bound, on a placement."""

    label: str
    drafter: str
    draft_max: int
    placement: Placement


@dataclass(frozen=True)
class RoundRecord:
    """One round as it happened."""

    rows: int
    """Rows that the target decoded: 1 + drafted."""
    target_seconds: float
    draft_seconds: float
    drafted: int
    accepted: int
    tokens: int
    """Tokens committed: accepted + 1, fewer when the answer ended inside the round."""
    source: str
    """Who drafted; empty in a plain round."""


@dataclass(frozen=True)
class Sample:
    """One answer of one variant."""

    block: int
    """Samples with the same number are of the same prompt and were taken one after another."""
    task: str
    prompt: int
    """Index of the prompt within its task."""
    variant: str
    tokens: tuple[int, ...]
    """All that was committed, the token that ended the answer included."""
    seconds: float
    """Of the generation, prompt excluded."""
    prompt_tokens: int
    prompt_seconds: float
    rounds: tuple[RoundRecord, ...]
    finish_reason: str
    agreement: Agreement | None = None
    """With the plain answer of the same block; None for that one itself."""
    estimated_gain: float | None = None
    """What a policy believes to have gained over plain decoding; None where none decided."""

    @property
    def tokens_per_second(self) -> float:
        """Tokens over seconds of generation."""
        return len(self.tokens) / self.seconds if self.seconds > 0 else 0.0

    @property
    def target_seconds(self) -> float:
        """Inside native decodes of the target."""
        return sum(record.target_seconds for record in self.rounds)

    @property
    def draft_seconds(self) -> float:
        """Inside native decodes of the draft."""
        return sum(record.draft_seconds for record in self.rounds)
