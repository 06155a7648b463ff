"""Loaded models and a session over them: what commands hold while they generate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Literal

from specdec_cli.draft.catalog import DrafterParts, drafter_kind
from specdec_cli.draft.costs import CostProfile
from specdec_cli.draft.ledger import Policy, PolicySummary
from specdec_cli.draft.values import Drafter
from specdec_cli.engine.generation import Generation
from specdec_cli.engine.rollback import can_roll_back
from specdec_cli.engine.session import Session
from specdec_cli.errors import SpecdecError, UsageProblem
from specdec_cli.findings import Finding
from specdec_cli.protocols import Backend, LoadedModel, TokenText
from specdec_cli.sampling.dry import breaker_tokens
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import AcceptRule, DraftSettings, GenerationSettings, SamplingSettings


@dataclass
class Engine:
    """Loaded models and the session over them. Owner of everything native; `close` frees it in order."""

    backend: Backend
    target: LoadedModel
    draft: LoadedModel | None
    session: Session
    drafting: DraftSettings
    off_reason: str
    """Why nothing is drafted, when the drafter in use never drafts."""
    parts: DrafterParts
    """What drafters are built from; the owner of the draft's context."""
    rolls_back: bool | None
    """Whether the target can drop rejected tokens; None: nobody has asked yet."""
    findings: list[Finding] = field(default_factory=list)
    keep_costs: Callable[[CostProfile], None] | None = None
    """Called at the end with what the policy has learned of the costs."""
    _parked: dict[str, Drafter] = field(default_factory=dict)

    @property
    def sampling(self) -> SamplingSettings:
        """The sampling in use."""
        return replace(self.parts.sampler.settings, seed=self.parts.random.seed)

    def generate(
        self,
        settings: GenerationSettings,
        interrupted: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = perf_counter,
    ) -> Generation:
        """A generation over this engine's session; give it a prompt with `prefill`, then iterate.

        `interrupted` is asked between rounds, and while either model reads a long prompt.
        """
        self.session.target.interrupted = interrupted
        if self.parts.draft_context is not None:
            self.parts.draft_context.interrupted = interrupted
        longest = self.drafting.draft_max
        return Generation(self.session, self.target.text, settings, longest, interrupted, clock)

    def use_drafter(self, name: str, off_reason: str = "no drafter", *, fresh: bool = False) -> None:
        """Between two generations: let another drafter propose. The one before keeps its cache for later.

        `fresh`: a new one, as at the start of a program, that has learned nothing from earlier answers.
        Raises `SpecdecError` when it cannot work with these models; nothing has changed then.
        """
        kind = drafter_kind(name)
        if kind.needs.own_context and self.parts.draft_context is None:
            raise SpecdecError(
                f"drafter {name} needs a draft model, and none is loaded", hint="load a pair, or use ngram"
            )
        if kind.speculates and not self._can_roll_back():
            raise SpecdecError(
                f"{self.target.path.name} cannot speculate: its memory cannot drop rejected tokens",
                code="arch.no_rollback",
            )
        self._switch(replace(self.drafting, drafter=name), self.sampling, fresh=fresh)
        self.off_reason = off_reason

    def use_sampling(self, sampling: SamplingSettings) -> None:
        """Between two generations: sample differently. A new seed alone keeps all caches; else the draft's is
        built again. Raises `UsageProblem` for a value out of range; nothing has changed then."""
        if replace(sampling, seed=0) == replace(self.parts.sampler.settings, seed=0):
            self.parts.random.reseed(sampling.seed)
        else:
            self._switch(self.drafting, sampling)

    def use_draft_settings(self, *, draft_max: int | None = None, accept: AcceptRule | None = None) -> None:
        """Between two generations: other lengths or another rule. Raises `UsageProblem` for more tokens in a
        draft than the target's context was made for."""
        longest = self.drafting.draft_max if draft_max is None else draft_max
        most = self.session.target.max_rows - 1
        if not 1 <= longest <= most:
            raise UsageProblem(f"--draft-max {longest}: these contexts were made for 1 to {most}")
        drafting = replace(self.drafting, draft_max=longest, accept=accept or self.drafting.accept)
        self._switch(drafting, self.sampling)

    def _switch(self, drafting: DraftSettings, sampling: SamplingSettings, *, fresh: bool = False) -> None:
        name, kind = drafting.drafter, drafter_kind(drafting.drafter)
        has_draft = self.parts.draft_context is not None
        rule, session = accept_rule(drafting, sampling, has_draft), self.session
        self._parked[self.drafting.drafter] = session.drafter
        if sampling != self.sampling:
            sampler = make_sampler(sampling, self.target.text)
            self.parts = replace(self.parts, sampler=sampler, random=RandomSource(sampling.seed))
            self._parked.clear()
        if drafting.accept != self.drafting.accept:
            self._parked.clear()
        self.parts = replace(self.parts, rule=rule)
        if fresh:
            self._parked.pop(name, None)
        if name not in self._parked:
            if kind.uses_draft_model:  # one draft context, one drafter that knows what is in it
                for other in [key for key in self._parked if drafter_kind(key).uses_draft_model]:
                    del self._parked[other]
            self._parked[name] = kind.build(self.parts)
        session.drafter = self._parked[name]
        session.sampler, session.random, session.rule = self.parts.sampler, self.parts.random, rule
        self.drafting = drafting

    def _can_roll_back(self) -> bool:
        if self.rolls_back is None:
            self.session.target.cut(0)
            self.session.committed = []
            self.rolls_back = can_roll_back(self.session.target, probe_token(self.target))
        return self.rolls_back

    @property
    def speculation(self) -> Literal["on", "off", "auto-off"]:
        """Whether it speculates now; `auto-off` when the policy found that it does not pay."""
        summary = self.policy_summary()
        if summary is not None:
            return summary.state
        return "on" if drafter_kind(self.drafting.drafter).speculates else "off"

    @property
    def reason(self) -> str:
        """Who drafts and by which rule, and what a policy gained; or why nothing is drafted."""
        summary = self.policy_summary()
        if self.speculation != "on":
            return self.off_reason if summary is None else summary.reason
        who = f"{self.drafting.drafter}, {self.session.rule}"
        return who if summary is None else f"{who}: {summary.text}"

    def policy_summary(self) -> PolicySummary | None:
        """What the policy did and gained so far; None when no policy decides."""
        drafter = self.session.drafter
        return drafter.summary() if isinstance(drafter, Policy) else None

    def close(self) -> None:
        """Drafters, contexts, then weights."""
        for drafter in (self.session.drafter, *self._parked.values()):
            if self.keep_costs is not None and isinstance(drafter, Policy):
                self.keep_costs(drafter.profile)
        self.session.close()
        for drafter in self._parked.values():
            drafter.close()
        if self.parts.draft_context is not None:
            self.parts.draft_context.close()
        if self.draft is not None and self.draft is not self.target:
            self.draft.close()
        self.target.close()


def make_sampler(sampling: SamplingSettings, text: TokenText) -> Sampler:
    """The sampler for one vocabulary; DRY also needs to know which tokens break a repetition."""
    breakers = breaker_tokens(text) if sampling.dry_multiplier > 0 else ()
    return Sampler(sampling, text.n_vocab, dry_breakers=breakers)


def probe_token(model: LoadedModel) -> int:
    """Some ordinary token: what is decoded does not matter, only that it can be dropped again."""
    tokens: Sequence[int] = model.text.tokenize("a", add_special=False, parse_special=False)
    return tokens[0] if tokens else 0


def accept_rule(
    drafting: DraftSettings, sampling: SamplingSettings, has_draft_model: bool
) -> Literal["match", "reject"]:
    """`auto` is *match* when greedy or when no draft model draws by chance, *reject* otherwise."""
    if drafting.accept != "auto":
        return drafting.accept
    draws = drafter_kind(drafting.drafter).uses_draft_model and has_draft_model
    return "reject" if draws and sampling.temperature > 0 else "match"
