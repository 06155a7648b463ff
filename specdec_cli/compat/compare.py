"""The entry of this room: two headers and the settings they would run with, to one report."""

from __future__ import annotations

from specdec_cli.compat.architecture import architecture_findings
from specdec_cli.compat.context import context_findings
from specdec_cli.compat.family import family_findings, stale_fields
from specdec_cli.compat.quantization import quantization_findings
from specdec_cli.compat.report import CompatibilityReport, Role, VocabularySummary, summarize, worst_first
from specdec_cli.compat.size import compare_sizes, size_findings
from specdec_cli.compat.template import template_findings
from specdec_cli.compat.tokens import compare_tokens
from specdec_cli.compat.vocabulary import Stale, field_findings, token_findings
from specdec_cli.findings import Finding
from specdec_cli.gguf.header import ModelHeader
from specdec_cli.settings import DEFAULT_CONTEXT, DEFAULT_DRAFT, ContextSettings


def compare(
    target: ModelHeader,
    draft: ModelHeader | None = None,
    *,
    context: ContextSettings = DEFAULT_CONTEXT,
    draft_max: int = DEFAULT_DRAFT.draft_max,
) -> CompatibilityReport:
    """Everything the headers of a target and its draft (or of a target alone) say, worst first. Reads no file."""
    findings = architecture_findings(target, draft)
    runnable = not any(finding.level == "error" for finding in findings)
    vocabulary, vocabulary_findings = _vocabularies(target, draft)
    size = None if draft is None else compare_sizes(target, draft)
    findings += _weights(target, draft) + vocabulary_findings
    if runnable:
        findings += _missing_vocabulary(target, draft)
        findings += context_findings(target, draft, context, draft_max)
        if not any(finding.level == "error" for finding in vocabulary_findings):
            findings += template_findings(target, draft)
        if draft is not None:
            findings += size_findings(target, draft, size)
            findings += quantization_findings(target, draft)
    return CompatibilityReport(
        findings=worst_first(findings),
        target=summarize(target),
        draft=None if draft is None else summarize(draft),
        vocabulary=vocabulary,
        size=size,
    )


def _weights(target: ModelHeader, draft: ModelHeader | None) -> list[Finding]:
    """A vocabulary-only file cannot run; two of them are compared on purpose, which is not a mistake."""
    without: list[Role] = [] if target.has_weights else ["target"]
    if draft is not None and not draft.has_weights:
        without.append("draft")
    on_purpose = len(without) == 2
    return [
        Finding(
            "warning" if on_purpose else "error",
            "file.no_weights",
            f"the {role} holds no tensors, only a vocabulary: nothing to run",
            hint="compared as far as that goes" if on_purpose else "give the file with the weights",
            overridable=False,
        )
        for role in without
    ]


def _vocabularies(
    target: ModelHeader, draft: ModelHeader | None
) -> tuple[VocabularySummary | None, list[Finding]]:
    if target.vocabulary is None:
        return None, []
    stale_target = stale_fields(target.vocabulary)
    if draft is None or draft.vocabulary is None:
        return None, family_findings("target", stale_target)
    compared = compare_tokens(target.vocabulary, draft.vocabulary)
    findings = token_findings(target.vocabulary, draft.vocabulary, compared)
    stale_draft = stale_fields(draft.vocabulary)
    if compared.kind != "ordinary":
        same_architecture = target.architecture == draft.architecture
        findings += field_findings(
            target.vocabulary, draft.vocabulary, stale_target, stale_draft, same_architecture
        )
    said = {finding.code.removeprefix("vocab.") for finding in findings}
    findings += family_findings("target", _unsaid(stale_target, said))
    findings += family_findings("draft", _unsaid(stale_draft, said))
    return compared.summary, findings


def _missing_vocabulary(target: ModelHeader, draft: ModelHeader | None) -> list[Finding]:
    """A file without tokens can neither read a prompt nor be compared."""
    roles: list[tuple[Role, ModelHeader | None]] = [("target", target), ("draft", draft)]
    return [
        Finding(
            "error",
            "vocab.missing",
            f"the {role} carries no vocabulary (tokenizer.ggml.tokens)",
            hint="give a file that was converted with its tokenizer",
            overridable=False,
        )
        for role, header in roles
        if header is not None and header.vocabulary is None
    ]


def _unsaid(stale: Stale, said: set[str]) -> Stale:
    """The stale fields that no difference has named already."""
    return {name: field for name, field in stale.items() if name not in said}
