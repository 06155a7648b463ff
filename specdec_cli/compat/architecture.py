"""Findings about what kind of model a file is: can it be a target, can it be a draft, can it roll back?

The lists follow llama.cpp as llama-cpp-python 0.3.36 carries it (`llm_arch_is_recurrent`, `llm_arch_is_hybrid`,
`llm_arch_is_diffusion`, `llama_model::create_memory`).
"""

from __future__ import annotations

from dataclasses import dataclass

from specdec_cli.compat.report import Role
from specdec_cli.findings import Finding
from specdec_cli.gguf.header import ModelHeader

RECURRENT = frozenset(["mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"])
HYBRID = frozenset(
    [
        "jamba",
        "falcon-h1",
        "plamo2",
        "granitehybrid",
        "lfm2",
        "lfm2moe",
        "nemotron_h",
        "nemotron_h_moe",
        "qwen3next",
        "kimi-linear",
        "bailingmoe3",
        "kimi-k3",
        "glm5-next",
        "qwen35",
        "qwen35moe",
        "qwen4exp",
        "deepseek4",
        "minimax-01",
    ]
)
EMBEDDING = frozenset(
    [
        "bert",
        "modern-bert",
        "nomic-bert",
        "nomic-bert-moe",
        "neo-bert",
        "jina-bert-v2",
        "jina-bert-v3",
        "eurobert",
        "gemma-embedding",
        "llama-embed",
        "t5encoder",
    ]
)
DIFFUSION = frozenset(["dream", "llada", "llada-moe", "rnd1"])
ENCODER_DECODER = frozenset({"t5"})
SOUND = frozenset(["wavtokenizer-dec", "qwen3tts", "pockettts"])
HEADS = {
    "eagle3": "an EAGLE-3 draft head",
    "eagle": "an EAGLE draft head",
    "dflash": "a DFlash draft head",
    "medusa": "Medusa draft heads",
    "gemma4-assistant": "a Gemma 4 MTP draft head",
}
_FIRST_LAYER = "blk.0.attn_norm.weight"
"""What llama.cpp looks for to tell a whole model from the MTP layers alone."""
_HEAD_TENSORS = ("d2t", "d2t.weight", "t2d", "t2d.weight")


@dataclass(frozen=True)
class Unusable:
    """Why a file can be neither target nor draft."""

    code: str
    what: str
    hint: str
    overridable: bool = False


def draft_head(header: ModelHeader) -> str | None:
    """What kind of draft head a file is, in words; None for a whole model.

    A head reads the hidden state of its own target and cannot run alone. Known by its architecture, by the
    table from its small vocabulary to the target's (`d2t`), or by next-token layers without a first layer.
    """
    if header.architecture in HEADS:
        return HEADS[header.architecture]
    names = {tensor.name for tensor in header.tensors}
    if not names.isdisjoint(_HEAD_TENSORS):
        return "an EAGLE-3 draft head"
    if names and embedded_head_layers(header) and _FIRST_LAYER not in names:
        return "an MTP draft head (next-token layers without the model they belong to)"
    return None


def embedded_head_layers(header: ModelHeader) -> int:
    """How many multi-token-prediction layers the file carries (`nextn_predict_layers`)."""
    return header.integer(f"{header.architecture}.nextn_predict_layers") or 0


def can_roll_back(header: ModelHeader) -> bool:
    """Whether the model's memory can drop rejected tokens, as far as its architecture tells."""
    return header.architecture not in RECURRENT | HYBRID


def architecture_findings(target: ModelHeader, draft: ModelHeader | None) -> list[Finding]:
    """What each file is, and whether that can play its part."""
    findings = _target(target)
    if draft is None:
        return findings
    return findings + _draft(target, draft)


def _target(header: ModelHeader) -> list[Finding]:
    unusable = _unusable(header)
    if unusable is not None:
        return [_refused("target", header, unusable)]
    findings = []
    if not can_roll_back(header):
        findings.append(
            Finding(
                "warning",
                "arch.no_rollback",
                f"the target is `{header.architecture}`, {_memory(header)}: it cannot drop rejected tokens, "
                "so it would run plain, without speculation",
                hint="for speculation choose a target whose layers are all attention",
            )
        )
    if header.expert_count:
        findings.append(
            Finding(
                "warning",
                "arch.moe",
                f"the target is a mixture of experts ({header.expert_used_count} of {header.expert_count} used "
                "per token): it is cheap per token, and several tokens at once read more experts",
                hint="expect little or no gain; speculation starts off and is probed",
            )
        )
    if embedded_head_layers(header):
        findings.append(
            Finding(
                "info",
                "arch.embedded_head",
                f"the target carries {embedded_head_layers(header)} MTP layers "
                "(nextn_predict_layers); they are not used yet",
            )
        )
    return findings


def _draft(target: ModelHeader, draft: ModelHeader) -> list[Finding]:
    unusable = _unusable(draft)
    if unusable is not None:
        return [_refused("draft", draft, unusable)]
    if not can_roll_back(draft):
        return [
            Finding(
                "error",
                "arch.no_rollback",
                f"the draft is `{draft.architecture}`, {_memory(draft)}: it cannot drop rejected tokens",
                hint="choose a draft whose layers are all attention",
                overridable=False,
            )
        ]
    if not can_roll_back(target):
        return [
            Finding(
                "warning",
                "arch.draft_unused",
                f"the draft (`{draft.architecture}`) fits no target of `{target.architecture}`: "
                "it would be loaded and never used",
                hint="leave the draft out",
            )
        ]
    return []


def _unusable(header: ModelHeader) -> Unusable | None:
    architecture = header.architecture
    if architecture == "clip" or header.kind == "mmproj":
        return Unusable(
            "arch.projector",
            "an image or audio projector (mmproj)",
            "give the language model it belongs to: text only",
        )
    if header.kind in ("adapter", "imatrix") or architecture == "controlvector":
        return Unusable(
            "arch.adapter", f"no model but {header.kind or 'a control vector'} data", "give a whole model"
        )
    head = draft_head(header)
    if head is not None:
        return Unusable(
            "arch.draft_head",
            head,
            "it only works inside the target it was trained for; give a whole model, and a small whole model as draft",
        )
    if architecture in EMBEDDING or _is_pooled(header):
        return Unusable(
            "arch.embedding", _embedding(header), "give a text-generating model", _is_pooled(header)
        )
    if architecture in DIFFUSION:
        return Unusable(
            "arch.diffusion", "a diffusion language model", "it does not write from left to right"
        )
    if architecture in ENCODER_DECODER:
        return Unusable("arch.encoder_decoder", "an encoder-decoder model", "give a decoder-only model")
    if architecture in SOUND:
        return Unusable("arch.sound", "a speech model", "text only for now")
    return None


def _is_pooled(header: ModelHeader) -> bool:
    """Decoders turned into embedding models or rerankers say how they pool; 0 is no pooling."""
    return header.architecture not in EMBEDDING and bool(
        header.integer(f"{header.architecture}.pooling_type")
        or header.metadata.get(f"{header.architecture}.classifier.output_labels")
        or header.get("attention.causal") is False
    )


def _embedding(header: ModelHeader) -> str:
    pooling = header.integer(f"{header.architecture}.pooling_type")
    return "an embedding model" + (f" (pooling_type {pooling})" if pooling else "")


def _refused(role: Role, header: ModelHeader, unusable: Unusable) -> Finding:
    return Finding(
        "error",
        unusable.code,
        f"the {role} (`{header.architecture}`) is {unusable.what}",
        hint=unusable.hint,
        overridable=unusable.overridable,
    )


def _memory(header: ModelHeader) -> str:
    return (
        "a recurrent model"
        if header.architecture in RECURRENT
        else "a hybrid of attention and recurrent layers"
    )
