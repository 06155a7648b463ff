"""The only place that wires rooms together: two files and a handful of settings → an engine ready to answer."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from specdec_cli.draft.catalog import PLAIN, DrafterParts, drafter_kind
from specdec_cli.draft.cost_keeper import CostKeeper
from specdec_cli.draft.profile_store import ProfileStore, file_identity
from specdec_cli.engine.engine import Engine, accept_rule, make_sampler, probe_token
from specdec_cli.engine.rollback import can_roll_back
from specdec_cli.engine.session import Session
from specdec_cli.errors import SpecdecError
from specdec_cli.findings import Finding
from specdec_cli.protocols import Backend, LoadedModel, ModelContext
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.settings import ContextSettings, DraftSettings, SamplingSettings

__all__ = ["Engine", "EngineRequest", "assemble"]


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
    profiles: Path | None = None
    """Folder where a policy keeps what it has measured; None keeps nothing."""
    grammar: str | None = None
    """What answers must satisfy, in llama.cpp's notation (GBNF)."""
    explicit_ctx: bool = False
    """Whether the user chose the context size: then it may be larger than the model was trained on."""


def assemble(
    backend: Backend, request: EngineRequest, progress: Callable[[str, float], bool] | None = None
) -> Engine:
    """Load the models, probe rollback, build the drafter. Whatever was opened is closed when a step fails.

    `progress` hears (what is going on, 0 … 1) and may answer False to stop while weights load.
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
    grammar = target.new_constraint(request.grammar) if request.grammar is not None else None
    n_ctx = _context_size(request, target, findings)
    target_context = target.new_context(
        replace(request.target_settings, n_ctx=n_ctx), max_rows=drafting.draft_max + 1
    )
    opened.append(target_context.close)

    rolls_back = can_roll_back(target_context, probe_token(target)) if kind.speculates else None
    if rolls_back is False:
        drafting, reason = replace(drafting, drafter=PLAIN), "the target's memory cannot drop rejected tokens"
        findings.append(
            Finding("warning", "arch.no_rollback", f"{target.path.name}: {reason}; running plain")
        )
        kind = drafter_kind(PLAIN)

    draft, draft_context = None, None
    if kind.needs.own_context or (kind.welcomes_draft_model and request.draft is not None):
        draft, draft_context = _open_draft(backend, request, target, n_ctx, progress, opened)

    rule = accept_rule(drafting, request.sampling, draft_context is not None)
    sampler = make_sampler(request.sampling, target.text)
    random = RandomSource(request.sampling.seed)
    keeper = _cost_keeper(backend, request, target_context, draft_context, progress)
    parts = DrafterParts(
        target.text.n_vocab,
        sampler,
        random,
        rule,
        draft_context,
        draft_max=drafting.draft_max,
        measure_costs=lambda: keeper.profile(target_context, draft_context),
        grammar_text=target.text if grammar is not None else None,
    )
    return Engine(
        backend=backend,
        target=target,
        draft=draft,
        session=Session(target_context, kind.build(parts), sampler, random, rule, grammar=grammar),
        drafting=drafting,
        off_reason=reason,
        parts=parts,
        rolls_back=rolls_back,
        findings=findings,
        keep_costs=keeper.keep,
    )


def _cost_keeper(
    backend: Backend,
    request: EngineRequest,
    target: ModelContext,
    draft: ModelContext | None,
    progress: Callable[[str, float], bool] | None,
) -> CostKeeper:
    """What rounds cost here, remembered for these files, this machine and these settings."""
    circumstances = {
        "target": file_identity(request.target),
        "draft": None if draft is None or request.draft is None else file_identity(request.draft),
        "machine": [platform.node(), platform.machine(), os.cpu_count()],
        "engine": [backend.name, backend.version],
        "settings": [
            {key: value for key, value in asdict(settings).items() if key != "n_ctx"}
            for settings in (request.target_settings, request.draft_settings)
        ],
        "rows": target.max_rows,
    }

    def announce() -> None:
        if progress is not None:
            progress("measuring what a round costs here, once", 0.0)

    store = ProfileStore(request.profiles) if request.profiles is not None else None
    return CostKeeper(store, circumstances, target.max_rows, announce)


def _load(
    backend: Backend,
    path: Path,
    settings: ContextSettings,
    progress: Callable[[str, float], bool] | None,
) -> LoadedModel:
    if progress is None:
        return backend.load(path, settings)
    return backend.load(path, settings, lambda fraction: progress(f"loading {path.name}", fraction))


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
    if not can_roll_back(context, probe_token(draft)):
        raise SpecdecError(
            f"{draft.path.name} cannot draft: its memory cannot drop rejected tokens",
            hint="choose another draft, or --drafter none",
            code="arch.no_rollback",
        )
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
