"""The only place that wires rooms together: two files and a handful of settings → an engine ready to answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Literal

from specdec_cli.draft.catalog import PLAIN, DrafterParts, drafter_kind
from specdec_cli.draft.values import Drafter
from specdec_cli.engine.generation import Generation
from specdec_cli.engine.rollback import can_roll_back
from specdec_cli.engine.session import Session
from specdec_cli.errors import SpecdecError, UsageProblem
from specdec_cli.findings import Finding
from specdec_cli.protocols import Backend, LoadedModel, ModelContext
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import (
    AcceptRule,
    ContextSettings,
    DraftSettings,
    GenerationSettings,
    SamplingSettings,
)


@dataclass(frozen=True)
class EngineRequest:
    """What to load and how to run it. Paths exist; which drafter is already decided."""

    target: Path
    draft: Path | None
    target_settings: ContextSettings
    draft_settings: ContextSettings
    drafting: DraftSettings
    sampling: SamplingSettings
    off_reason: str = "no draft model given"
    """Why speculation is off, when the drafter is `none`."""
    explicit_ctx: bool = False
    """Whether the user chose the context size: then it may be larger than the model was trained on."""


@dataclass
class Engine:
    """Loaded models and the session over them. Owner of everything native; `close` frees it in order."""

    backend: Backend
    target: LoadedModel
    draft: LoadedModel | None
    session: Session
    drafting: DraftSettings
    speculation: Literal["on", "off"]
    reason: str
    parts: DrafterParts
    """What drafters are built from; the owner of the draft's context."""
    rolls_back: bool | None
    """Whether the target can drop rejected tokens; None: nobody has asked yet."""
    findings: list[Finding] = field(default_factory=list)
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
        if not kind.speculates:
            self.reason = off_reason

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
        rule, session = _rule(drafting, sampling), self.session
        self._parked[self.drafting.drafter] = session.drafter
        if sampling != self.sampling:
            sampler = Sampler(sampling, self.target.text.n_vocab)
            self.parts = replace(self.parts, sampler=sampler, random=RandomSource(sampling.seed))
            self._parked.clear()
        if drafting.accept != self.drafting.accept:
            self._parked.clear()
        self.parts = replace(self.parts, rule=rule)
        if fresh:
            self._parked.pop(name, None)
        if name not in self._parked:
            if kind.needs.own_context:  # one draft context, one drafter that knows what is in it
                for other in [key for key in self._parked if drafter_kind(key).needs.own_context]:
                    del self._parked[other]
            self._parked[name] = kind.build(self.parts)
        session.drafter = self._parked[name]
        session.sampler, session.random, session.rule = self.parts.sampler, self.parts.random, rule
        self.drafting = drafting
        self.speculation = "on" if kind.speculates else "off"
        if kind.speculates:
            self.reason = f"{name}, {rule}"

    def _can_roll_back(self) -> bool:
        if self.rolls_back is None:
            self.session.target.cut(0)
            self.session.committed = []
            self.rolls_back = can_roll_back(self.session.target, _probe_token(self.target))
        return self.rolls_back

    def close(self) -> None:
        """Drafters, contexts, then weights."""
        self.session.close()
        for drafter in self._parked.values():
            drafter.close()
        if self.parts.draft_context is not None:
            self.parts.draft_context.close()
        if self.draft is not None and self.draft is not self.target:
            self.draft.close()
        self.target.close()


def assemble(
    backend: Backend, request: EngineRequest, progress: Callable[[str, float], bool] | None = None
) -> Engine:
    """Load the models, probe rollback, build the drafter. Whatever was opened is closed when a step fails.

    `progress` hears (file name, 0 … 1) while weights load and may answer False to stop.
    """
    opened: list[Callable[[], None]] = []
    try:
        return _assemble(backend, request, progress, opened)
    except BaseException:
        for close in reversed(opened):
            close()
        raise


def _assemble(
    backend: Backend,
    request: EngineRequest,
    progress: Callable[[str, float], bool] | None,
    opened: list[Callable[[], None]],
) -> Engine:
    findings: list[Finding] = []
    drafting, reason = request.drafting, request.off_reason
    kind = drafter_kind(drafting.drafter)

    target = _load(backend, request.target, request.target_settings, progress)
    opened.append(target.close)
    n_ctx = _context_size(request, target, findings)
    target_context = target.new_context(
        replace(request.target_settings, n_ctx=n_ctx), max_rows=drafting.draft_max + 1
    )
    opened.append(target_context.close)

    rolls_back = can_roll_back(target_context, _probe_token(target)) if kind.speculates else None
    if rolls_back is False:
        drafting, reason = replace(drafting, drafter=PLAIN), "the target's memory cannot drop rejected tokens"
        findings.append(
            Finding("warning", "arch.no_rollback", f"{target.path.name}: {reason}; running plain")
        )
        kind = drafter_kind(PLAIN)

    draft, draft_context = None, None
    if kind.needs.own_context:
        draft, draft_context = _open_draft(backend, request, target, n_ctx, progress, opened)
        if not can_roll_back(draft_context, _probe_token(draft)):
            raise SpecdecError(
                f"{draft.path.name} cannot draft: its memory cannot drop rejected tokens",
                hint="choose another draft, or --drafter none",
                code="arch.no_rollback",
            )

    rule = _rule(drafting, request.sampling)
    sampler = Sampler(request.sampling, target.text.n_vocab)
    random = RandomSource(request.sampling.seed)
    parts = DrafterParts(target.text.n_vocab, sampler, random, rule, draft_context)
    return Engine(
        backend=backend,
        target=target,
        draft=draft,
        session=Session(target_context, kind.build(parts), sampler, random, rule),
        drafting=drafting,
        speculation="on" if kind.speculates else "off",
        reason=f"{drafting.drafter}, {rule}" if kind.speculates else reason,
        parts=parts,
        rolls_back=rolls_back,
        findings=findings,
    )


def _load(
    backend: Backend,
    path: Path,
    settings: ContextSettings,
    progress: Callable[[str, float], bool] | None,
) -> LoadedModel:
    if progress is None:
        return backend.load(path, settings)
    return backend.load(path, settings, lambda fraction: progress(path.name, fraction))


def _open_draft(
    backend: Backend,
    request: EngineRequest,
    target: LoadedModel,
    n_ctx: int,
    progress: Callable[[str, float], bool] | None,
    opened: list[Callable[[], None]],
) -> tuple[LoadedModel, ModelContext]:
    """The draft's weights (the target's own when it is the same file) and its context."""
    if request.draft is None:
        raise SpecdecError(
            f"drafter {request.drafting.drafter} needs a draft model", hint="give one with --draft"
        )
    draft = target
    if not request.draft.samefile(request.target):
        draft = _load(backend, request.draft, request.draft_settings, progress)
        opened.append(draft.close)
    size = min(n_ctx, draft.n_ctx_train) if draft.n_ctx_train else n_ctx
    context = draft.new_context(replace(request.draft_settings, n_ctx=size), max_rows=1)
    opened.append(context.close)
    return draft, context


def _context_size(request: EngineRequest, target: LoadedModel, findings: list[Finding]) -> int:
    """The wished context size; the model's training length bounds it unless the user chose it himself."""
    wish, trained = request.target_settings.n_ctx, target.n_ctx_train
    if not trained or wish <= trained:
        return wish
    if not request.explicit_ctx:
        return trained
    findings.append(
        Finding(
            "warning",
            "context.beyond_training",
            f"--ctx {wish} is more than the {trained} tokens {target.path.name} was trained on",
        )
    )
    return wish


def _probe_token(model: LoadedModel) -> int:
    """Some ordinary token: what is decoded does not matter, only that it can be dropped again."""
    tokens: Sequence[int] = model.text.tokenize("a", add_special=False, parse_special=False)
    return tokens[0] if tokens else 0


def _rule(drafting: DraftSettings, sampling: SamplingSettings) -> Literal["match", "reject"]:
    """`auto` is *match* when greedy or when the drafter chooses deterministically, *reject* otherwise."""
    if drafting.accept != "auto":
        return drafting.accept
    deterministic = drafter_kind(drafting.drafter).deterministic
    return "match" if sampling.temperature == 0 or deterministic else "reject"
