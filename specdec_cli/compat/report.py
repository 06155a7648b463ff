"""What a comparison says: the values that leave this room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from specdec_cli.findings import Finding
from specdec_cli.gguf.header import ModelHeader
from specdec_cli.gguf.types import tensor_type_name

Role = Literal["target", "draft"]

_SEVERITY = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True)
class ModelSummary:
    """The figures of one model that a person compares, all from its header."""

    source: str
    """Path or URL."""
    name: str | None
    architecture: str
    quantization: str | None
    """`Q4_K_M`; None without weights."""
    bits_per_weight: float | None
    dominant_type: str | None
    """The tensor type that holds most elements, `Q4_K`."""
    weight_bytes: int
    file_bytes: int | None
    """None when a remote server does not say."""
    parameters: int
    layers: int | None
    context_length: int | None
    """The context it was trained on."""
    vocabulary_size: int | None
    experts: int
    """Experts per layer; 0 for a dense model."""


@dataclass(frozen=True)
class TokenDifference:
    """One id that stands for different things in the two files."""

    token: int
    target_text: str
    draft_text: str
    target_type: str | None
    """`normal`, `control`, …; None when the file has no types."""
    draft_type: str | None


@dataclass(frozen=True)
class VocabularySummary:
    """Two token lists against each other. Ids below `shared` are in both."""

    target_size: int
    draft_size: int
    different_texts: int
    """How many shared ids have different texts."""
    different_types: int
    """How many shared ids have the same text and different types, placeholders left out."""
    first_differences: tuple[TokenDifference, ...]
    """The first ids whose text differs or, if none does, the first whose type does."""
    padding: int
    """How many entries only one of the two has and that are placeholders such as `[PAD151665]`.

    Not counted (0) between different tokenizers."""

    @property
    def shared(self) -> int:
        """How many ids both have: the draft may propose these and no others."""
        return min(self.target_size, self.draft_size)

    @property
    def never_proposed(self) -> int:
        """How many ids the draft has and the target does not."""
        return max(0, self.draft_size - self.target_size)


@dataclass(frozen=True)
class SizeComparison:
    """How large the draft is against its target. Ratios: draft ÷ target."""

    bytes_ratio: float
    parameters_ratio: float


@dataclass(frozen=True)
class CompatibilityReport:
    """Everything the two headers say about the pair, worst first."""

    findings: tuple[Finding, ...]
    target: ModelSummary
    draft: ModelSummary | None
    vocabulary: VocabularySummary | None
    """None without a draft, or when a file has no token list."""
    size: SizeComparison | None
    """None without a draft, or when a file has no weights."""

    @property
    def compatible(self) -> bool:
        """Whether nothing found is an error."""
        return all(finding.level != "error" for finding in self.findings)


def worst_first(findings: list[Finding]) -> tuple[Finding, ...]:
    """Errors, then warnings, then information; in each, the order they were found in."""
    return tuple(sorted(findings, key=lambda finding: _SEVERITY[finding.level]))


def summarize(header: ModelHeader) -> ModelSummary:
    """The figures of one model."""
    dominant = header.dominant_type
    return ModelSummary(
        source=header.source,
        name=header.name,
        architecture=header.architecture,
        quantization=header.quantization,
        bits_per_weight=header.bits_per_weight,
        dominant_type=None if dominant is None else tensor_type_name(dominant),
        weight_bytes=header.weight_bytes,
        file_bytes=header.file_bytes,
        parameters=header.n_parameters,
        layers=header.block_count,
        context_length=header.context_length,
        vocabulary_size=header.vocab_size,
        experts=header.expert_count,
    )
