"""The only place that wires rooms together: two files and a handful of settings → an engine ready to answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from specdec_cli.draft.catalog import PLAIN, DrafterParts, drafter_kind
from specdec_cli.engine.generation import Generation
from specdec_cli.engine.rollback import can_roll_back
from specdec_cli.engine.session import Session
from specdec_cli.errors import SpecdecError
from specdec_cli.findings import Finding
from specdec_cli.protocols import Backend, LoadedModel, ModelContext
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import ContextSettings, DraftSettings, GenerationSettings, SamplingSettings


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
    findings: list[Finding] = field(default_factory=list)

    def generate(
        self,
        settings: GenerationSettings,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Generation:
        """A generation over this engine's session; give it a prompt with `prefill`, then iterate."""
        return Generation(self.session, self.target.text, settings, self.drafting.draft_max, interrupted)

    def close(self) -> None:
        """Drafter, contexts, then weights."""
        self.session.close()
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

    if kind.speculates and not can_roll_back(target_context, _probe_token(target)):
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
    drafter = kind.build(DrafterParts(target.text.n_vocab, sampler, random, rule, draft_context))
    return Engine(
        backend=backend,
        target=target,
        draft=draft,
        session=Session(target_context, drafter, sampler, random, rule),
        drafting=drafting,
        speculation="on" if kind.speculates else "off",
        reason=f"{drafting.drafter}, {rule}" if kind.speculates else reason,
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
