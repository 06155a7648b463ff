"""Sampling options out of range are refused by name, before any model is loaded."""

from __future__ import annotations

import math

from specdec_cli.errors import UsageProblem
from specdec_cli.settings import SamplingSettings

_LARGEST = 3e38
_SMALLEST = 1e-37
"""The range of float32, in which the arithmetic is done."""


def validate(settings: SamplingSettings, n_vocab: int | None = None) -> None:
    """Raise `UsageProblem` for the first value out of range; without `n_vocab`, token ids are not checked."""
    _check_ranges(settings)
    _check_switches(settings)
    for token, value in settings.logit_bias:
        if token < 0 or (n_vocab is not None and token >= n_vocab):
            there = "" if n_vocab is None else f" of {n_vocab}"
            raise UsageProblem(f"--logit-bias names token {token}, which is not in the vocabulary{there}")
        if math.isnan(value) or value > _LARGEST:
            raise UsageProblem(f"--logit-bias for token {token} is {value}: it must be a number or -inf")


def _check_ranges(settings: SamplingSettings) -> None:
    finite = {
        "--temp": settings.temperature,
        "--repeat-penalty": settings.repeat_penalty,
        "--frequency-penalty": settings.frequency_penalty,
        "--presence-penalty": settings.presence_penalty,
        "--dry-multiplier": settings.dry_multiplier,
        "--dry-base": settings.dry_base,
        "--top-p": settings.top_p,
        "--min-p": settings.min_p,
        "--typical-p": settings.typical_p,
        "--xtc-probability": settings.xtc_probability,
        "--xtc-threshold": settings.xtc_threshold,
    }
    for option, value in finite.items():
        if not abs(value) <= _LARGEST:
            raise UsageProblem(f"{option} is {value}: it must be a finite number")
    if settings.temperature < 0:
        raise UsageProblem(f"--temp is {settings.temperature:g}: it must be 0 (greedy) or more")
    for option in ("--top-p", "--typical-p"):
        if not 0 < finite[option] <= 1:
            raise UsageProblem(f"{option} is {finite[option]:g}: it must be above 0 and at most 1 (1 is off)")
    for option in ("--min-p", "--xtc-probability", "--xtc-threshold"):
        if not 0 <= finite[option] <= 1:
            raise UsageProblem(f"{option} is {finite[option]:g}: it must be between 0 and 1")


def _check_switches(settings: SamplingSettings) -> None:
    if settings.top_k < -1:
        raise UsageProblem(f"--top-k is {settings.top_k}: it must be positive; 0 and -1 are off")
    if settings.repeat_penalty < _SMALLEST:
        raise UsageProblem(f"--repeat-penalty is {settings.repeat_penalty:g}: it must be above 0 (1 is off)")
    if settings.dry_multiplier < 0:
        raise UsageProblem(f"--dry-multiplier is {settings.dry_multiplier:g}: it must be 0 (off) or more")
    if settings.dry_base < 1:
        raise UsageProblem(f"--dry-base is {settings.dry_base:g}: it must be 1 or more")
    if settings.dry_allowed_length < 0:
        raise UsageProblem(f"--dry-allowed-length is {settings.dry_allowed_length}: it must be 0 or more")
    for option, count in (
        ("--repeat-last-n", settings.penalty_last_n),
        ("--dry-penalty-last-n", settings.dry_penalty_last_n),
    ):
        if count < -1:
            raise UsageProblem(f"{option} is {count}: it must be 0 (off), positive, or -1 (the whole text)")


def parse_logit_bias(text: str) -> tuple[int, float]:
    """`42=+1.5` or `42=-inf` as (token id, value). Raises `ValueError`."""
    try:
        token, value = text.split("=")
        return int(token), float(value)
    except ValueError:
        raise ValueError("not TOKEN=X with a token id and a number") from None
