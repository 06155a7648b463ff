"""Findings about chat templates: is one missing, do both speak the same turn format?"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from specdec_cli.findings import Finding
from specdec_cli.gguf.header import ModelHeader

_MARKER = re.compile(r"<[|｜][^<>{}]{1,40}[|｜]>|</?[a-z_]{2,40}>|\[/?[A-Z_]{2,40}\]")
_INSTRUCT_WORDS = {"instruct", "it", "chat", "assistant", "instruction"}


def template_findings(target: ModelHeader, draft: ModelHeader | None) -> list[Finding]:
    """What the two chat templates say of each other. Only the target's is ever rendered."""
    ours = target.chat_template
    theirs = None if draft is None else draft.chat_template
    findings = []
    if not ours:
        findings.append(
            Finding(
                "warning",
                "template.missing",
                "the target has no chat template (tokenizer.chat_template): it is a base model or an old file",
                hint="use --raw and write the prompt as plain text, or choose an instruct model",
            )
        )
    if draft is None:
        return findings
    if bool(ours) != bool(theirs):
        instruct, base = ("target", "draft") if ours else ("draft", "target")
        findings.append(
            Finding(
                "warning",
                "family.base_against_instruct",
                f"the {instruct} has a chat template, the {base} has none: "
                f"an instruct model against a base model, as it seems",
                hint="the answers stay the target's; fewer drafts are accepted than with two of one kind",
            )
        )
    elif ours and theirs and _normal(ours) != _normal(theirs):
        findings.append(_difference(ours, theirs))
    if bool(ours) == bool(theirs) and (kinds := _named_differently(target, draft)):
        findings.append(kinds)
    return findings


def _difference(ours: str, theirs: str) -> Finding:
    """Another wording around the same turn markers is harmless; other markers are another format."""
    target_markers, draft_markers = set(_MARKER.findall(ours)), set(_MARKER.findall(theirs))
    common = target_markers & draft_markers
    if common and len(common) * 2 >= min(len(target_markers), len(draft_markers)):
        return Finding(
            "info",
            "template.wording",
            f"chat templates differ in wording, not in format: both use {_some(common, ours)}",
        )
    return Finding(
        "warning",
        "template.differs",
        f"chat templates differ: the target's uses {_some(target_markers, ours)}, "
        f"the draft's {_some(draft_markers, theirs)}",
        hint="the prompt is written once, by the target's template; the draft may guess badly in a format "
        "it was not trained on",
    )


def _some(markers: set[str], template: str) -> str:
    """The first three markers in the order the template has them."""
    shown = sorted(markers, key=template.find)[:3]
    return ", ".join(f"`{marker}`" for marker in shown) if shown else "no markers"


def _normal(template: str) -> str:
    return " ".join(template.split())


def _named_differently(target: ModelHeader, draft: ModelHeader) -> Finding | None:
    """Base against instruct by what the files call themselves, believed only where eos differs too."""
    ours, theirs = _says_instruct(target), _says_instruct(draft)
    if target.vocabulary is None or draft.vocabulary is None or ours == theirs:
        return None
    if target.vocabulary.eos == draft.vocabulary.eos:
        return None
    instruct, base = (target, draft) if ours else (draft, target)
    return Finding(
        "warning",
        "family.base_against_instruct",
        f"`{_called(instruct)}` calls itself an instruct model, `{_called(base)}` does not, and their eos differs",
        hint="the answers stay the target's; fewer drafts are accepted than with two of one kind",
    )


def _called(header: ModelHeader) -> str:
    return header.name or PurePosixPath(header.source.replace("\\", "/")).name


def _says_instruct(header: ModelHeader) -> bool:
    words = " ".join((header.finetune or "", _called(header)))
    return bool(_INSTRUCT_WORDS & set(re.split(r"[^a-z]+", words.lower())))
