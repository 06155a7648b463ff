"""DRY with breakers, against its definition spelled out. (Without breakers: against llama.cpp itself.)"""

from __future__ import annotations

import numpy as np
import pytest

from specdec_cli.sampling.dry import Dry, breaker_tokens
from specdec_cli.settings import SamplingSettings


def by_definition(text: list[int], breakers: set[int], settings: SamplingSettings) -> dict[int, float]:
    since_breaker = 0
    while since_breaker < len(text) and text[-1 - since_breaker] not in breakers:
        since_breaker += 1
    longest: dict[int, int] = {}
    for follower in range(1, len(text)):
        length = 0
        while (
            length < min(follower, since_breaker)
            and text[follower - 1 - length] == text[len(text) - 1 - length]
        ):
            length += 1
        if length >= settings.dry_allowed_length:
            longest[text[follower]] = max(longest.get(text[follower], 0), length)
    return {
        token: settings.dry_multiplier * settings.dry_base ** (length - settings.dry_allowed_length)
        for token, length in longest.items()
        if token not in breakers
    }


@pytest.mark.parametrize("seed", range(30))
def test_penalties_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    settings = SamplingSettings(dry_multiplier=0.7, dry_base=1.5, dry_allowed_length=1 + seed % 3)
    text = rng.integers(0, 4, int(rng.integers(0, 60))).tolist()
    breakers = set(rng.integers(0, 12, 2).tolist())
    tokens, penalties = Dry(settings, breakers).penalties(text)
    assert dict(zip(tokens.tolist(), penalties.tolist(), strict=True)) == pytest.approx(
        by_definition(text, breakers, settings), rel=1e-6
    )


def test_a_breaker_ends_what_counts_as_a_repetition() -> None:
    settings = SamplingSettings(dry_multiplier=1.0, dry_allowed_length=2)
    text = [1, 2, 3, 4, 1, 2, 3]
    assert Dry(settings, ()).penalties(text)[0].tolist() == [4]
    assert Dry(settings, {2}).penalties(text)[0].tolist() == []
    assert Dry(settings, {4}).penalties(text)[0].tolist() == []


class Pieces:
    n_vocab = 5

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        raise AssertionError("not asked for")

    def piece(self, token: int) -> bytes:
        return (b"word", b".\n\n", b'say "', b"", b"a*b")[token]

    def is_end_of_generation(self, token: int) -> bool:
        return False


def test_tokens_that_hold_a_breaker_are_breakers() -> None:
    assert breaker_tokens(Pieces()) == {1, 2, 4}
