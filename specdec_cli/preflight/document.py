"""What `check --json` prints. Sizes in bytes, speeds in tokens per second. Fields are added, never renamed."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from specdec_cli.compat.report import ModelSummary
from specdec_cli.memory.plan import plan_as_json
from specdec_cli.predict import Prediction
from specdec_cli.preflight.report import PreflightReport
from specdec_cli.speeds import Span

SCHEMA = 1


def preflight_document(report: PreflightReport) -> dict[str, Any]:
    """The whole document. `null` stands for what is not known or does not apply, never a guess."""
    compatibility = report.compatibility
    return {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "findings": [
            {"level": f.level, "code": f.code, "message": f.message, "hint": f.hint} for f in report.findings
        ],
        "target": model_as_json(compatibility.target),
        "draft": None if compatibility.draft is None else model_as_json(compatibility.draft),
        "context": report.context,
        "machine": report.machine.name,
        "memory": None if report.memory is None else plan_as_json(report.memory),
        "prediction": None if report.prediction is None else _prediction(report.prediction),
    }


def model_as_json(model: ModelSummary) -> dict[str, Any]:
    """One model: as in `run --json`, and what its header says beside."""
    return {
        "path": model.source,
        "name": display_name(model),
        "quant": model.quantization or "unknown",
        "bytes": model.weight_bytes,
        "architecture": model.architecture,
        "parameters": model.parameters,
        "bits_per_weight": model.bits_per_weight,
        "dominant_type": model.dominant_type,
        "layers": model.layers,
        "experts": model.experts,
        "context_train": model.context_length,
        "vocabulary": model.vocabulary_size,
    }


def display_name(model: ModelSummary) -> str:
    """The model's own name, or its file's."""
    return model.name or PurePosixPath(model.source.replace("\\", "/")).name.removesuffix(".gguf")


def _prediction(prediction: Prediction) -> dict[str, Any]:
    """`measured` is of `plain_tps`, `speedup_measured` of the two ranges."""
    return {
        "plain_tps": prediction.plain_tps,
        "speculative_tps": _span(prediction.speculative_tps),
        "speedup": _span(prediction.speedup),
        "basis": prediction.basis,
        "measured": prediction.measured,
        "speedup_measured": prediction.speedup_measured,
    }


def _span(span: Span | None) -> dict[str, float] | None:
    return None if span is None else {"low": span.low, "high": span.high}
