"""Sampling as typed, and as settings: out of range is refused before any model is loaded."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from specdec_cli.errors import UsageProblem
from specdec_cli.sampling.validation import parse_logit_bias, validate
from specdec_cli.settings import DEFAULT_SAMPLING, SamplingSettings


@dataclass(frozen=True)
class SamplingOptions:
    """Options of the command line; `logit_bias` holds texts like `42=+1.5` or `42=-inf`."""

    temp: float = DEFAULT_SAMPLING.temperature
    top_k: int = DEFAULT_SAMPLING.top_k
    top_p: float = DEFAULT_SAMPLING.top_p
    min_p: float = DEFAULT_SAMPLING.min_p
    typical_p: float = DEFAULT_SAMPLING.typical_p
    repeat_penalty: float = DEFAULT_SAMPLING.repeat_penalty
    frequency_penalty: float = DEFAULT_SAMPLING.frequency_penalty
    presence_penalty: float = DEFAULT_SAMPLING.presence_penalty
    penalty_last_n: int = DEFAULT_SAMPLING.penalty_last_n
    dry_multiplier: float = DEFAULT_SAMPLING.dry_multiplier
    dry_base: float = DEFAULT_SAMPLING.dry_base
    dry_allowed_length: int = DEFAULT_SAMPLING.dry_allowed_length
    dry_last_n: int = DEFAULT_SAMPLING.dry_penalty_last_n
    xtc_probability: float = DEFAULT_SAMPLING.xtc_probability
    xtc_threshold: float = DEFAULT_SAMPLING.xtc_threshold
    logit_bias: tuple[str, ...] = ()
    seed: int | None = None

    def settings(self) -> SamplingSettings:
        """Validated settings with a seed: the one given, or a new one (the document names it)."""
        settings = SamplingSettings(
            temperature=self.temp,
            top_k=self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            typical_p=self.typical_p,
            repeat_penalty=self.repeat_penalty,
            frequency_penalty=self.frequency_penalty,
            presence_penalty=self.presence_penalty,
            penalty_last_n=self.penalty_last_n,
            dry_multiplier=self.dry_multiplier,
            dry_base=self.dry_base,
            dry_allowed_length=self.dry_allowed_length,
            dry_penalty_last_n=self.dry_last_n,
            xtc_probability=self.xtc_probability,
            xtc_threshold=self.xtc_threshold,
            logit_bias=tuple(_parse_bias(text) for text in self.logit_bias),
            seed=self.seed if self.seed is not None else secrets.randbelow(2**32),
        )
        validate(settings)
        return settings


def _parse_bias(text: str) -> tuple[int, float]:
    try:
        return parse_logit_bias(text)
    except ValueError:
        raise UsageProblem(
            f"--logit-bias {text}: it must be TOKEN=X with a token id and a number",
            hint="for example 42=-inf",
        ) from None
