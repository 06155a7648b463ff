"""Findings about two vocabularies: tokens first, then the fields that say how they are used."""

from __future__ import annotations

from collections.abc import Mapping

from specdec_cli.compat.family import (
    StaleField,
    effective_add_bos,
    effective_add_eos,
    same_pre_tokenizer,
    uses_pre_tokenizer,
)
from specdec_cli.compat.report import TokenDifference, VocabularySummary
from specdec_cli.compat.tokens import TokenComparison, shown
from specdec_cli.findings import Finding, Level
from specdec_cli.gguf.vocabulary import Vocabulary

Stale = Mapping[str, StaleField]

_OTHER_DRAFT = "choose a draft of the target's own family, or decode plainly with --drafter ngram or none"


def token_findings(target: Vocabulary, draft: Vocabulary, compared: TokenComparison) -> list[Finding]:
    """What the token lists themselves say."""
    if target.model != draft.model:
        return [
            Finding(
                "error",
                "vocab.type",
                f"tokenizer type differs: target `{target.model}`, draft `{draft.model}`",
                hint=_OTHER_DRAFT,
            ),
            *([] if compared.kind == "none" else [_text_finding(target, compared)]),
        ]
    findings = [] if compared.kind == "none" else [_text_finding(target, compared)]
    if compared.kind != "ordinary":
        findings += _tail_findings(target, draft, compared)
        if compared.type_ids:
            findings.append(_type_finding(compared))
    return findings


def field_findings(
    target: Vocabulary, draft: Vocabulary, stale_target: Stale, stale_draft: Stale, same_architecture: bool
) -> list[Finding]:
    """The fields beside the token list, each with both values. Worth reading only where the tokens agree."""
    findings = _pre_tokenizer(target, draft, stale_target, stale_draft, same_architecture)
    findings += _special_ids(target, draft)
    findings += _flag(
        "add_bos", effective_add_bos(target), effective_add_bos(draft), stale_target, stale_draft
    )
    findings += _flag(
        "add_eos", effective_add_eos(target), effective_add_eos(draft), stale_target, stale_draft
    )
    return findings


def _text_finding(target: Vocabulary, compared: TokenComparison) -> Finding:
    summary, kind = compared.summary, compared.kind
    ids = _listed(summary.first_differences)
    sizes = f"{summary.different_texts} of {summary.shared} shared tokens differ"
    if kind == "ordinary":
        return Finding(
            "error", "vocab.token_text", f"the vocabularies differ: {sizes}, first {ids}", _OTHER_DRAFT
        )
    used = [
        name
        for name in ("bos", "eos", "eot")
        if target.effective_special_id(name) in set(compared.different_ids)
        and (name != "bos" or effective_add_bos(target))
    ]
    if kind == "special" or used:
        return Finding(
            "error",
            "vocab.special_tokens",
            f"ordinary tokens agree, special tokens do not: {sizes}, {ids}"
            + (f"; among them the target's {' and '.join(used)}" if used else ""),
            hint="the target's chat format is made of tokens that mean something else to this draft; take a draft "
            "trained for this very target (for an R1 distill: a smaller R1 distill)",
        )
    return Finding(
        "warning",
        "vocab.reserved_tokens",
        f"{sizes}, each a placeholder in one of the files: {ids}",
        hint="harmless in ordinary text; where the target uses these tokens the draft will guess badly",
    )


def _tail_findings(target: Vocabulary, draft: Vocabulary, compared: TokenComparison) -> list[Finding]:
    summary, extra = compared.summary, compared.extra_ids
    if summary.target_size == summary.draft_size:
        return []
    sizes = f"target {summary.target_size} tokens, draft {summary.draft_size}"
    longer, role = (target, "target") if summary.never_proposed == 0 else (draft, "draft")
    tail = abs(summary.target_size - summary.draft_size)
    first = shown(longer, extra[0]) if extra else ""
    if role == "target" and extra:
        return [
            Finding(
                "error",
                "vocab.target_only",
                f"{sizes}: {len(extra)} real tokens of the target are not in the draft, first {first}",
                hint="the draft cannot read a text that holds them; " + _OTHER_DRAFT,
                overridable=False,
            )
        ]
    beyond = [
        name
        for name in ("bos", "eos", "eot")
        if (draft.effective_special_id(name) or 0) >= summary.target_size
    ]
    if beyond:
        name = beyond[0]
        return [
            Finding(
                "error",
                "vocab.draft_only",
                f"{sizes}: the draft's {name} is {shown(draft, draft.effective_special_id(name))}, "
                "which the target does not have: they are of different families",
                hint=_OTHER_DRAFT,
            )
        ]
    return [
        Finding(
            "info",
            "vocab.padding" if summary.padding == tail or not extra else "vocab.draft_only",
            f"{sizes}: of the {tail} more, {summary.padding} are padding"
            + (f" and {len(extra)} are real, first {first}" if extra else "")
            + ("; the draft's are never proposed" if role == "draft" else ""),
        )
    ]


def _type_finding(compared: TokenComparison) -> Finding:
    summary = compared.summary
    first = summary.first_differences[0]
    stale = "no file stands out"
    specials = {"control", "user_defined"}
    if first.target_text[:1] in "<[":
        if first.draft_type in specials and first.target_type == "normal":
            stale = "the target looks stale"
        elif first.target_type in specials and first.draft_type == "normal":
            stale = "the draft looks stale"
    return Finding(
        "warning" if stale == "the target looks stale" else "info",
        "vocab.token_type",
        f"{summary.different_types} tokens have the same text and another type, first {first.token} "
        f"`{first.target_text}`: {first.target_type} in the target, {first.draft_type} in the draft; {stale}",
        hint="types decide how the target reads `<|…|>` in a prompt; the draft never reads text",
    )


def _pre_tokenizer(
    target: Vocabulary, draft: Vocabulary, stale_target: Stale, stale_draft: Stale, same_architecture: bool
) -> list[Finding]:
    """Two rules of cutting text are two token streams: what one model expects is strange to the other.

    A missing name between files of one architecture, or of a known family, is an old conversion. Between
    different architectures it is not: then the effective rules really differ.
    """
    if not uses_pre_tokenizer(target) or same_pre_tokenizer(target.pre, draft.pre):
        return []
    explained = "pre_tokenizer" in stale_target or "pre_tokenizer" in stale_draft
    missing = target.pre in (None, "default") or draft.pre in (None, "default")
    tolerated = explained or (missing and same_architecture)
    level: Level = "warning" if tolerated else "error"
    return [
        Finding(
            level,
            "vocab.pre_tokenizer",
            f"pre-tokenizer differs: target {_name(target.pre)}, draft {_name(draft.pre)}"
            + _which("pre_tokenizer", stale_target, stale_draft),
            hint="the text is tokenized once, by the target: the draft sees it cut in a way it was not trained on"
            if level == "error"
            else "download a newer conversion of the file that does not say",
        )
    ]


def _special_ids(target: Vocabulary, draft: Vocabulary) -> list[Finding]:
    findings = []
    ends = {
        token for name in ("eos", "eot", "eom") if (token := draft.effective_special_id(name)) is not None
    }
    for name in ("bos", "eos", "eot"):
        ours, theirs = target.effective_special_id(name), draft.effective_special_id(name)
        if ours == theirs:
            continue
        matters = {
            "bos": effective_add_bos(target) and ours is not None,
            "eos": ours not in ends,
            "eot": ours is not None and theirs is not None and ours not in ends,
        }[name]
        findings.append(
            Finding(
                "warning" if matters else "info",
                _FIELD_CODES[name],
                f"{name} differs: target {shown(target, ours)}, draft {shown(draft, theirs)}",
                hint=_ID_HINTS[name] if matters else None,
            )
        )
    return findings


_FIELD_CODES = {
    "bos": "vocab.bos",
    "eos": "vocab.eos",
    "eot": "vocab.eot",
    "add_bos": "vocab.add_bos",
    "add_eos": "vocab.add_eos",
}
_ID_HINTS = {
    "bos": "every prompt opens with the target's bos; the draft was trained with another and may guess worse",
    "eos": "an answer ends at the target's eos; the draft looks like the other kind of model (base or instruct)",
    "eot": "a turn ends at the target's eot; the draft was trained to end it otherwise",
}


def _flag(name: str, ours: bool, theirs: bool, stale_target: Stale, stale_draft: Stale) -> list[Finding]:
    if ours == theirs:
        return []
    return [
        Finding(
            "warning" if name in stale_target else "info",
            _FIELD_CODES[name],
            f"{name} differs: target {str(ours).lower()}, draft {str(theirs).lower()}"
            + (
                _which(name, stale_target, stale_draft)
                or "; the prompt is tokenized once, as the target wants"
            ),
            hint="download a newer conversion of the target" if name in stale_target else None,
        )
    ]


def _which(field: str, stale_target: Stale, stale_draft: Stale) -> str:
    """`; the draft looks stale: Llama 3 files have …`, or nothing."""
    for role, stale in (("target", stale_target), ("draft", stale_draft)):
        if field in stale:
            return f"; the {role} looks stale: {stale[field].family} files have {stale[field].usual}"
    return ""


def _name(pre: str | None) -> str:
    return f"`{pre}`" if pre else "missing (llama.cpp then uses `default`)"


def _listed(differences: tuple[TokenDifference, ...]) -> str:
    return ", ".join(f"{d.token} `{d.target_text}` against `{d.draft_text}`" for d in differences)


__all__ = ["VocabularySummary", "field_findings", "token_findings"]
