"""Numbers of a whole model that llama.cpp asserts on: it would end the process, so they are refused here."""

from __future__ import annotations

from typing import NoReturn

from specdec_cli.gguf.header import ModelHeader
from specdec_cli.gguf.problems import HeaderProblem

MAX_LAYERS = 512
MAX_EXPERTS = 1024
ROPE_SCALING_TYPES = ("none", "linear", "yarn", "longrope")
"""These three are llama.cpp 0.3.36's (`llama_model_base::load_hparams`)."""


def check_model(header: ModelHeader) -> None:
    """Raise `HeaderProblem` when loading the weights would abort the process. Other faults it reports itself."""
    if not header.has_weights or header.architecture in ("", "clip"):
        return
    layers = header.block_count
    if layers is not None and not 0 < layers <= MAX_LAYERS:
        _refuse(header, f"claims {layers:,} layers (1 to {MAX_LAYERS} are possible)")
    heads = header.integer(f"{header.architecture}.nextn_predict_layers") or 0
    if layers is not None and heads > layers:
        _refuse(header, f"claims {heads:,} draft layers among {layers} layers")
    _check_experts(header)
    scaling = header.get("rope.scaling.type")
    if isinstance(scaling, str) and scaling not in ROPE_SCALING_TYPES:
        _refuse(header, f"its rope.scaling.type is none of {', '.join(ROPE_SCALING_TYPES)}")


def _check_experts(header: ModelHeader) -> None:
    experts, used = header.expert_count, header.expert_used_count
    if header.architecture.startswith("hunyuan") and experts <= 1:
        return  # llama.cpp takes these for dense models, whatever else they say
    most = max(used, default=0) if isinstance(used, tuple) else used
    if experts > MAX_EXPERTS:
        _refuse(header, f"claims {experts:,} experts ({MAX_EXPERTS} are possible)")
    if most > experts or (experts and not most):
        _refuse(header, f"claims to use {most:,} of {experts:,} experts")
    groups = header.integer(f"{header.architecture}.expert_group_count") or 0
    if groups and groups >= experts:
        _refuse(header, f"claims {groups:,} groups of {experts:,} experts")


def _refuse(header: ModelHeader, message: str) -> NoReturn:
    hint = "the file is damaged: take another one of this model"
    raise HeaderProblem(header.source, message, code="file.damaged", hint=hint)
