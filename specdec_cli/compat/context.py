"""Findings about the context: training lengths and sliding windows. KV types are in `memory.check_kv`."""

from __future__ import annotations

from specdec_cli.compat.report import Role
from specdec_cli.findings import Finding
from specdec_cli.gguf.header import ModelHeader
from specdec_cli.settings import ContextSettings


def context_findings(
    target: ModelHeader, draft: ModelHeader | None, settings: ContextSettings, draft_max: int
) -> list[Finding]:
    """What the wished context asks of both models. The draft gets the same context size."""
    findings = _training(target, draft, settings.n_ctx)
    models: list[tuple[Role, ModelHeader]] = [("target", target)]
    if draft is not None:
        models.append(("draft", draft))
    for role, header in models:
        findings += _sliding_window(role, header, settings, draft_max)
    return findings


def _training(target: ModelHeader, draft: ModelHeader | None, n_ctx: int) -> list[Finding]:
    findings = []
    trained = target.context_length
    if trained is not None and n_ctx > trained:
        findings.append(
            Finding(
                "warning",
                "context.beyond_training",
                f"the context asked for is {n_ctx} tokens, the target was trained on {trained}",
                hint=f"use --ctx {trained}: beyond it answers get worse",
            )
        )
    draft_trained = None if draft is None else draft.context_length
    reach = n_ctx if trained is None else min(n_ctx, trained)
    if draft_trained is not None and draft_trained < reach:
        findings.append(
            Finding(
                "warning",
                "context.draft_shorter",
                f"the draft was trained on {draft_trained} tokens, the context in use is {reach}: "
                f"drafting stops at {draft_trained}",
                hint=f"use --ctx {draft_trained}, or a draft with a longer context",
            )
        )
    elif draft_trained is not None and trained is not None and draft_trained < trained:
        findings.append(
            Finding(
                "info",
                "context.draft_shorter",
                f"training context: target {trained} tokens, draft {draft_trained}; {reach} are in use",
            )
        )
    return findings


def _sliding_window(
    role: Role, header: ModelHeader, settings: ContextSettings, draft_max: int
) -> list[Finding]:
    """Without `swa_full` llama.cpp keeps the window and one batch more: rejected tokens must fit in that slack."""
    window = header.sliding_window
    if window is None or settings.swa_full or window >= settings.n_ctx:
        return []
    slack = settings.n_batch
    fits = draft_max < slack
    return [
        Finding(
            "info" if fits else "warning",
            "kv.sliding_window",
            f"the {role}'s sliding-window layers keep {window} tokens and {slack} more; "
            f"a draft holds up to {draft_max} that may have to be taken back",
            hint=None if fits else f"use --draft-max {slack - 1} or less, or the full-size cache (swa_full)",
        )
    ]
