"""Findings about precision: how many bits each model's layers have, and whether the two match."""

from __future__ import annotations

from specdec_cli.findings import Finding
from specdec_cli.gguf.header import ModelHeader

LEVEL_GAP = 2.5
"""Bits per weight apart from which two quantizations count as different levels: Q4 and Q6 are one, Q4 and Q8 not."""
LOW_BITS = 3.9
"""Below it are the Q3 and Q2 types, with which others measured a falling acceptance."""


def layer_bits(header: ModelHeader) -> float | None:
    """Bits per weight of the layers alone: embedding tables weigh most in small models and are kept precise."""
    layers = [tensor for tensor in header.tensors if tensor.name.startswith("blk.")]
    elements = sum(tensor.n_elements for tensor in layers)
    return sum(tensor.n_bytes for tensor in layers) * 8 / elements if elements else header.bits_per_weight


def quantization_findings(target: ModelHeader, draft: ModelHeader) -> list[Finding]:
    """Levels should match, and a draft below 4 bits is accepted less."""
    ours, theirs = layer_bits(target), layer_bits(draft)
    if ours is None or theirs is None:
        return []
    findings = []
    figures = f"target {_described(target, ours)}, draft {_described(draft, theirs)}"
    if abs(ours - theirs) > LEVEL_GAP and target.quantization != draft.quantization:
        findings.append(
            Finding(
                "warning",
                "quant.levels",
                f"quantization levels differ: {figures}",
                hint=_reason(ours, theirs),
            )
        )
    if theirs < LOW_BITS:
        findings.append(
            Finding(
                "warning",
                "quant.low_bits",
                f"the layers of the draft have {theirs:.1f} bits per weight ({draft.quantization})",
                hint="below 4 bits others measured a falling acceptance; a Q4 draft costs little more",
            )
        )
    return findings


def _reason(ours: float, theirs: float) -> str:
    if theirs > ours:
        return (
            "a coarser target drifts from what a precise draft expects, and the precise draft reads more bytes; "
            "others measured hardly any difference down to Q4, so a Q4 draft is the faster choice"
        )
    return "a coarser draft may be accepted less; others measured hardly any difference down to Q4, and a fall at Q3"


def _described(header: ModelHeader, bits: float) -> str:
    return f"{header.quantization} ({bits:.1f} bits per weight in its layers)"
