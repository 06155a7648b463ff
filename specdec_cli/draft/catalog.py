"""The drafters by name. To add one: write its class, declare what it needs, add a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from specdec_cli.draft.model import ModelDrafter
from specdec_cli.draft.ngram import NgramDrafter
from specdec_cli.draft.plain import PlainDrafter
from specdec_cli.draft.values import Drafter, DrafterNeeds
from specdec_cli.errors import UsageProblem
from specdec_cli.protocols import ModelContext
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler


@dataclass(frozen=True)
class DrafterParts:
    """What a drafter may be built from. `draft_context` is there when its needs asked for one."""

    n_vocab: int
    """Size of the target's vocabulary: no drafter proposes an id from there on."""
    sampler: Sampler
    random: RandomSource
    rule: Literal["match", "reject"]
    draft_context: ModelContext | None = None


@dataclass(frozen=True)
class DrafterKind:
    """One entry of the catalogue."""

    needs: DrafterNeeds
    build: Callable[[DrafterParts], Drafter]
    speculates: bool = True
    """False for plain decoding: no rollback is needed, nothing is ever drafted."""
    deterministic: bool = True
    """Whether its tokens are chosen without chance whatever the sampling settings: then *match* loses nothing."""


def _build_model(parts: DrafterParts) -> Drafter:
    assert parts.draft_context is not None
    return ModelDrafter(
        parts.draft_context,
        sampler=parts.sampler,
        random=parts.random,
        rule=parts.rule,
        target_n_vocab=parts.n_vocab,
    )


DRAFTERS: dict[str, DrafterKind] = {
    "none": DrafterKind(PlainDrafter.needs, lambda _parts: PlainDrafter(), speculates=False),
    "ngram": DrafterKind(NgramDrafter.needs, lambda _parts: NgramDrafter()),
    "model": DrafterKind(ModelDrafter.needs, _build_model, deterministic=False),
}


PLAIN = "none"
"""What runs when nothing can speculate."""


def drafter_kind(name: str) -> DrafterKind:
    """The entry called `name`. Raises `UsageProblem` naming the known ones."""
    if name not in DRAFTERS:
        raise UsageProblem(f"there is no drafter called {name!r}", hint="one of " + ", ".join(DRAFTERS))
    return DRAFTERS[name]
