"""`bench --json`: the report for machines. Fields may be added, never renamed. Seconds, tokens."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from specdec_cli.bench.foresight import Foresight
from specdec_cli.bench.report import BenchReport, Cell
from specdec_cli.bench.statistics import CONFIDENCE, Estimate
from specdec_cli.bench.values import Sample

SCHEMA = 1


def bench_document(report: BenchReport) -> dict[str, Any]:
    """The whole report, every sample included (its rounds are `--rounds`)."""
    return {
        "schema": SCHEMA,
        **report.about,
        "confidence": CONFIDENCE,
        "interrupted": report.interrupted,
        "lossless": report.lossless,
        "variants": list(report.variants),
        "overall": [
            {"variant": variant, "speedup": estimate_document(estimate)}
            for variant, estimate in report.overall.items()
        ],
        "cells": [_cell(cell) for cell in report.cells],
        "foresight": {task: _foresight(bound) for task, bound in report.foresight.items()},
        "profile": report.profile,
        "samples": [_sample(sample) for sample in report.samples],
    }


def estimate_document(estimate: Estimate | None) -> dict[str, Any] | None:
    """A ratio with its interval; `low` and `high` are null where there were too few pairs."""
    return None if estimate is None else asdict(estimate)


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "task": cell.task,
        "variant": cell.variant,
        "runs": cell.runs,
        "tokens_per_second": cell.tokens_per_second,
        "speedup": estimate_document(cell.speedup),
        "ratios": list(cell.ratios),
        "drafted": cell.drafted,
        "accepted": cell.accepted,
        "acceptance_rate": cell.acceptance_rate,
        "mean_tokens_per_round": cell.mean_tokens_per_round,
        "time": {"target": cell.target_share, "draft": cell.draft_share, "other": cell.other_share},
        "lossless": cell.lossless,
        "answers": {"same": cell.same, "tie": cell.ties, "different": cell.different},
    }


def _foresight(bound: Foresight) -> dict[str, Any]:
    return {**asdict(bound), "speedup": bound.speedup}


def _sample(sample: Sample) -> dict[str, Any]:
    return {
        "block": sample.block,
        "task": sample.task,
        "prompt": sample.prompt,
        "variant": sample.variant,
        "tokens": len(sample.tokens),
        "seconds": sample.seconds,
        "tokens_per_second": sample.tokens_per_second,
        "prompt_tokens": sample.prompt_tokens,
        "prompt_seconds": sample.prompt_seconds,
        "time": {
            "target": sample.target_seconds,
            "draft": sample.draft_seconds,
            "other": max(0.0, sample.seconds - sample.target_seconds - sample.draft_seconds),
        },
        "rounds": len(sample.rounds),
        "drafted": sum(record.drafted for record in sample.rounds),
        "accepted": sum(record.accepted for record in sample.rounds),
        "finish_reason": sample.finish_reason,
        "agreement": sample.agreement,
        "estimated_gain": sample.estimated_gain,
    }
