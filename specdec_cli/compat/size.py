"""Findings about how large the draft is against its target: bytes decide, parameters explain."""

from __future__ import annotations

from specdec_cli.compat.report import SizeComparison
from specdec_cli.findings import Finding
from specdec_cli.gguf.header import ModelHeader

GUIDANCE = (0.05, 0.20)
"""Draft ÷ target in bytes that people recommend. Below it a draft is cheap but may be accepted less."""


def compare_sizes(target: ModelHeader, draft: ModelHeader) -> SizeComparison | None:
    """The two ratios; None when a file has no weights."""
    if not target.weight_bytes or not draft.weight_bytes:
        return None
    return SizeComparison(
        bytes_ratio=draft.weight_bytes / target.weight_bytes,
        parameters_ratio=draft.n_parameters / target.n_parameters,
    )


def size_findings(target: ModelHeader, draft: ModelHeader, size: SizeComparison | None) -> list[Finding]:
    """The same file twice, a draft too large to pay, or the figures alone."""
    if is_same_file(target, draft):
        return [
            Finding(
                "warning",
                "file.same",
                f"target and draft are one and the same model: {target.source} and {draft.source}, "
                f"{file_size(target.weight_bytes)} of weights each",
                hint="a draft as large as its target cannot make it faster; give a smaller model of the family",
            )
        ]
    if size is None:
        return []
    figures = (
        f"the draft has {size.bytes_ratio:.1%} of the target's bytes ({file_size(draft.weight_bytes)} of "
        f"{file_size(target.weight_bytes)}) and {size.parameters_ratio:.1%} of its parameters"
    )
    low, high = GUIDANCE
    if size.bytes_ratio >= 1:
        return [
            Finding(
                "warning",
                "size.draft_not_smaller",
                f"{figures}: a draft as large as its target cannot make it faster",
                hint="are the two swapped? give the smaller one as draft",
            )
        ]
    if size.bytes_ratio > high:
        return [
            Finding(
                "warning",
                "size.draft_large",
                f"{figures}; guidance is {low:.0%} to {high:.0%}",
                hint="each drafted token costs that share of a target step; a smaller draft of the family pays sooner",
            )
        ]
    return [Finding("info", "size.ratio", f"{figures}; guidance is {low:.0%} to {high:.0%} at most")]


def is_same_file(target: ModelHeader, draft: ModelHeader) -> bool:
    """Whether the two headers are of one file, by path or because everything in them is equal."""
    return target.source == draft.source or (
        bool(target.tensors)
        and target.tensors == draft.tensors
        and target.file_bytes == draft.file_bytes
        and target.metadata == draft.metadata
    )


def file_size(n_bytes: int) -> str:
    """`7.3 GB`, `806 MB`: decimal, as file lists show it."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"
