"""From `--drafters ngram:8,model:1-4,auto` to what is measured beside plain decoding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specdec_cli.bench.values import Placement, Variant
from specdec_cli.draft.catalog import DRAFTERS, PLAIN, drafter_kind
from specdec_cli.errors import UsageProblem

LONGEST = 64
PLAIN_LABEL = "plain"


@dataclass(frozen=True)
class Choice:
    """A drafter, and its longest draft where one was given."""

    drafter: str
    draft_max: int | None = None

    @property
    def label(self) -> str:
        """As typed: `model:4`, or the name alone."""
        return self.drafter if self.draft_max is None else f"{self.drafter}:{self.draft_max}"


def parse_drafters(text: str) -> tuple[Choice, ...]:
    """NAME, NAME:LENGTH or NAME:FROM-TO, separated by commas; each once. Raises `UsageProblem`."""
    choices = [choice for item in text.split(",") if item.strip() for choice in _parse(item.strip())]
    if not choices:
        raise UsageProblem("--drafters names none", hint="for example --drafters ngram,model:1-8")
    return tuple(dict.fromkeys(choices))


def default_drafters(*, has_draft: bool) -> tuple[Choice, ...]:
    """Every drafter of the catalogue that drafts, at its usual length, as far as it has what it needs."""
    return tuple(
        Choice(name)
        for name, kind in DRAFTERS.items()
        if kind.speculates and (has_draft or not kind.needs.own_context)
    )


def make_variants(
    choices: tuple[Choice, ...], placement: Placement, draft_max: int | None = None
) -> tuple[Variant, ...]:
    """Plain decoding first, then the choices. Those without a length of their own take `draft_max`, else what
    is usual for their drafter."""
    plain = Variant(PLAIN_LABEL, PLAIN, 1, placement)
    return plain, *(
        Variant(
            choice.label,
            choice.drafter,
            choice.draft_max or draft_max or drafter_kind(choice.drafter).draft_max,
            placement,
        )
        for choice in choices
    )


def _parse(item: str) -> Iterator[Choice]:
    name, colon, lengths = item.partition(":")
    if not drafter_kind(name).speculates:
        raise UsageProblem(f"--drafters {name}: plain decoding is always measured")
    if not colon:
        yield Choice(name)
        return
    first, dash, last = lengths.partition("-")
    try:
        low, high = int(first), int(last if dash else first)
    except ValueError:
        low = high = 0
    if not 1 <= low <= high <= LONGEST:
        raise UsageProblem(
            f"--drafters {item}: a length is a number from 1 to {LONGEST}, or a range such as 1-8"
        )
    for length in range(low, high + 1):
        yield Choice(name, length)
