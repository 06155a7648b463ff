"""The drafters by name. To add one: write its class, declare what it needs, add a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from specdec_cli.draft.costs import CostProfile
from specdec_cli.draft.fallback import FallbackDrafter
from specdec_cli.draft.forced import ForcedDrafter
from specdec_cli.draft.model import ModelDrafter
from specdec_cli.draft.ngram import NgramDrafter
from specdec_cli.draft.plain import PlainDrafter
from specdec_cli.draft.policy import PolicyDrafter
from specdec_cli.draft.values import Drafter, DrafterNeeds
from specdec_cli.errors import EngineFault, UsageProblem
from specdec_cli.protocols import ModelContext, TokenText
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import DEFAULT_DRAFT


@dataclass(frozen=True)
class DrafterParts:
    """What a drafter may be built from. `draft_context` is there when its needs asked for one."""

    n_vocab: int
    """Size of the target's vocabulary: no drafter proposes an id from there on."""
    sampler: Sampler
    random: RandomSource
    rule: Literal["match", "reject"]
    draft_context: ModelContext | None = None
    draft_max: int = DEFAULT_DRAFT.draft_max
    """The most tokens a draft may ever have."""
    measure_costs: Callable[[], CostProfile] | None = None
    """What rounds cost with these contexts: asked only by a drafter that weighs costs."""
    grammar_text: TokenText | None = None
    """The target's vocabulary when answers follow a grammar: then what it forces is proposed first."""


@dataclass(frozen=True)
class DrafterKind:
    """One entry of the catalogue."""

    needs: DrafterNeeds
    build: Callable[[DrafterParts], Drafter]
    speculates: bool = True
    """False for plain decoding: no rollback is needed, nothing is ever drafted."""
    welcomes_draft_model: bool = False
    """Whether it uses a draft model when there is one, and goes on without when there is none."""
    draft_max: int = 4
    """How long its drafts may be unless the user says so."""

    @property
    def uses_draft_model(self) -> bool:
        """Whether a draft model is loaded for it, if one is given."""
        return self.needs.own_context or self.welcomes_draft_model


def _model_drafter(parts: DrafterParts, *, prefill_in_begin: bool) -> ModelDrafter:
    if parts.draft_context is None:
        raise EngineFault("a draft model was wanted and none was opened")
    return ModelDrafter(
        parts.draft_context,
        sampler=parts.sampler,
        random=parts.random,
        rule=parts.rule,
        target_n_vocab=parts.n_vocab,
        prefill_in_begin=prefill_in_begin,
    )


def _build_auto(parts: DrafterParts) -> Drafter:
    if parts.measure_costs is None:
        raise EngineFault("a policy was wanted, and nobody can measure costs for it")
    costly = [_model_drafter(parts, prefill_in_begin=False)] if parts.draft_context is not None else []
    free: list[Drafter] = [NgramDrafter()]
    if parts.grammar_text is not None:
        free.append(ForcedDrafter(parts.grammar_text))
    return PolicyDrafter(free, costly, parts.measure_costs(), parts.draft_max)


def _forced_first(parts: DrafterParts, drafter: Drafter) -> Drafter:
    if parts.grammar_text is None:
        return drafter
    return FallbackDrafter((ForcedDrafter(parts.grammar_text), drafter))


def _build_model(parts: DrafterParts) -> Drafter:
    return _forced_first(parts, _model_drafter(parts, prefill_in_begin=True))


DRAFTERS: dict[str, DrafterKind] = {
    "auto": DrafterKind(DrafterNeeds(), _build_auto, welcomes_draft_model=True, draft_max=16),
    "model": DrafterKind(ModelDrafter.needs, _build_model),
    "ngram": DrafterKind(NgramDrafter.needs, lambda parts: _forced_first(parts, NgramDrafter()), draft_max=8),
    "none": DrafterKind(PlainDrafter.needs, lambda _parts: PlainDrafter(), speculates=False, draft_max=1),
}


PLAIN = "none"
"""What runs when nothing can speculate."""


def drafter_kind(name: str) -> DrafterKind:
    """The entry called `name`. Raises `UsageProblem` naming the known ones."""
    if name not in DRAFTERS:
        raise UsageProblem(f"there is no drafter called {name!r}", hint="one of " + ", ".join(DRAFTERS))
    return DRAFTERS[name]
