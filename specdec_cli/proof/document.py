"""What `verify --json` prints. Fields may be added, never renamed. Infinite gaps and changes are null."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from specdec_cli.documents import SCHEMA, finding_document
from specdec_cli.findings import Finding
from specdec_cli.proof.report import (
    FALSE_ALARM_RATE,
    LOGIT_TOLERANCE,
    Difference,
    ProofReport,
    RollbackReport,
    SampledReport,
    ShownToken,
)


def proof_document(
    report: ProofReport,
    *,
    target: dict[str, Any],
    draft: dict[str, Any] | None,
    seed: int,
    engine: dict[str, str],
    findings: Sequence[Finding],
) -> dict[str, Any]:
    """The whole report. Seconds; logits as the model gives them; shares and p-values 0 … 1."""
    greedy, same_seed = report.greedy, report.same_seed
    return {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "drafter": report.drafter,
        "draft_max": report.draft_max,
        "rounding": {"largest_change_of_distance": report.noise, "tie_threshold": report.tie_threshold},
        "greedy": {
            "verdict": greedy.verdict,
            "prompts": greedy.prompts,
            "identical": greedy.prompts - len(greedy.differences),
            "tokens": greedy.tokens,
            "drafted": greedy.drafted,
            "accepted": greedy.accepted,
            "differences": [_difference(difference) for difference in greedy.differences],
        },
        "same_seed": {
            "verdict": same_seed.verdict,
            "rule": "match",
            "answers": same_seed.answers,
            "tokens": same_seed.tokens,
            "differences": [_difference(difference) for difference in same_seed.differences],
        },
        "sampled": None if report.sampled is None else _sampled(report.sampled),
        "rollback": _rollback(report.rollback),
        "seconds": report.seconds,
        "seed": seed,
        "target": target,
        "draft": draft,
        "engine": engine,
        "findings": [finding_document(finding) for finding in findings],
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "verdict": difference.verdict,
        "prompt": difference.prompt,
        "kind": difference.kind,
        "position": difference.position,
        "before": difference.before,
        "expected": _token(difference.expected),
        "found": _token(difference.found),
        "logit_gap": _finite(difference.gap),
        "seed": difference.seed,
    }


def _sampled(sampled: SampledReport) -> dict[str, Any]:
    largest = sampled.largest
    return {
        "verdict": sampled.verdict,
        "rule": sampled.rule,
        "prompts": sampled.prompts,
        "samples": sampled.samples,
        "first_tokens": sampled.first_tokens,
        "drafted": sampled.drafted,
        "accepted": sampled.accepted,
        "p_value": sampled.p_value,
        "false_alarm_rate": FALSE_ALARM_RATE,
        "largest": None
        if largest is None
        else {
            "prompt": largest.prompt,
            "position": largest.position,
            "token": _token(largest.token),
            "plain_share": largest.plain_share,
            "drafted_share": largest.drafted_share,
        },
    }


def _rollback(rollback: RollbackReport) -> dict[str, Any]:
    return {
        "verdict": rollback.verdict,
        "tolerance": LOGIT_TOLERANCE,
        "cases": [
            {
                "model": case.model,
                "position": case.position,
                "rejected": case.rejected,
                "change": _finite(case.change),
            }
            for case in rollback.cases
        ],
    }


def _token(token: ShownToken | None) -> dict[str, Any] | None:
    return None if token is None else {"id": token.id, "text": token.text}


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
