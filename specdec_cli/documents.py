"""The JSON documents of the commands. Fields may be added, never renamed: other programs read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specdec_cli.draft.ledger import PolicySummary
from specdec_cli.engine.generation import Generation
from specdec_cli.findings import Finding

SCHEMA = 1


def model_document(path: Path, name: str, quant: str, size_bytes: int) -> dict[str, Any]:
    """One model as every document shows it."""
    return {"path": str(path), "name": name, "quant": quant, "bytes": size_bytes}


def finding_document(finding: Finding) -> dict[str, Any]:
    """One finding as every document shows it."""
    return {"level": finding.level, "code": finding.code, "message": finding.message, "hint": finding.hint}


def run_document(
    generation: Generation,
    *,
    state: str,
    reason: str,
    policy: PolicySummary | None,
    drafter: str,
    target: dict[str, Any],
    draft: dict[str, Any] | None,
    seed: int,
    engine: dict[str, str],
    findings: list[Finding],
) -> dict[str, Any]:
    """What `run --json` prints. Sizes in bytes, times in seconds; `time` splits `generation.seconds`."""
    statistics = generation.statistics
    tokens, seconds = len(generation.token_ids), generation.seconds
    native = statistics.target_seconds + statistics.draft_seconds
    return {
        "schema": SCHEMA,
        "text": generation.answer,
        "token_ids": generation.token_ids,
        "finish_reason": generation.finish_reason or "interrupt",
        "prompt": {"tokens": generation.prompt_tokens, "seconds": generation.prompt_seconds},
        "generation": {
            "tokens": tokens,
            "seconds": seconds,
            "tokens_per_second": tokens / seconds if seconds > 0 else 0.0,
        },
        "speculation": {
            "state": state,
            "reason": reason,
            "drafter": drafter,
            "rounds": statistics.rounds,
            "drafted": statistics.drafted,
            "accepted": statistics.accepted,
            "acceptance_rate": statistics.acceptance_rate,
            "mean_tokens_per_round": statistics.mean_tokens_per_round,
            "accepted_by_position": list(statistics.accepted_by_position),
            "by_source": {
                source: {"drafted": drafted, "accepted": accepted}
                for source, (drafted, accepted) in statistics.by_source.items()
            },
            "gain": policy.gain if policy is not None else None,
            "probes": policy.probes if policy is not None else 0,
            "rounds_by_drafter": policy.rounds if policy is not None else {},
        },
        "time": {
            "target": statistics.target_seconds,
            "draft": statistics.draft_seconds,
            "other": max(0.0, seconds - native),
        },
        "target": target,
        "draft": draft,
        "seed": seed,
        "engine": engine,
        "findings": [finding_document(finding) for finding in findings],
    }
