"""Everything `/set` knows: names, what they mean, how what is typed becomes a value."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from specdec_cli.chat.context_budget import WhenFull
from specdec_cli.draft.catalog import DRAFTERS
from specdec_cli.errors import UsageProblem
from specdec_cli.sampling.validation import parse_logit_bias
from specdec_cli.settings import AcceptRule, FlashAttention, KvType, SamplingSettings

Scope = Literal["sampling", "drafting", "limits", "chat", "load"]
"""What an option belongs to; `load` options load the models anew."""


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Option:
    """One option. `field` is its name in the settings it belongs to."""

    name: str
    scope: Scope
    field: str
    meaning: str
    parse: Callable[[str], object]
    choices: tuple[str, ...] = ()
    show: Callable[[Any], str] = _shown
    """A value as one would type it."""


def _whole(text: str) -> int:
    if not re.fullmatch(r"[+-]?\d{1,18}", text):
        raise ValueError("not a whole number")
    return int(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("not a number") from None


def _texts(text: str) -> tuple[str, ...]:
    """Stop strings, separated by commas; `\\n` is a newline."""
    parts = tuple(part.replace("\\n", "\n") for part in text.split(","))
    if not all(parts):
        raise ValueError("not a list of texts")
    return parts


def _texts_shown(value: tuple[str, ...]) -> str:
    return ",".join(part.replace("\n", "\\n") for part in value) or "none"


def _biases(text: str) -> tuple[tuple[int, float], ...]:
    """Token ids with values, separated by commas; `none` is none."""
    return () if text == "none" else tuple(parse_logit_bias(part.strip()) for part in text.split(","))


def _biases_shown(value: tuple[tuple[int, float], ...]) -> str:
    return ",".join(f"{token}={bias:+g}" for token, bias in value) or "none"


def _chosen(text: str) -> str:
    return text


def _with_choices(name: str, scope: Scope, field: str, meaning: str, choices: tuple[str, ...]) -> Option:
    return Option(name, scope, field, meaning, _chosen, choices)


def _sampling() -> list[Option]:
    """One option for each field of the sampling settings that a person can type."""
    names = {"temperature": "temp", "dry_penalty_last_n": "dry-last-n"}
    meanings = {
        "temperature": "0 is greedy: always the most likely token",
        "top_k": "keep the K most likely tokens; 0 is off",
        "top_p": "keep the likeliest tokens up to this probability; 1 is off",
        "min_p": "drop tokens less likely than this share of the best; 0 is off",
        "typical_p": "1 is off",
        "repeat_penalty": "weaken recent tokens; 1 is off",
        "penalty_last_n": "how many tokens the penalties look back; -1 is all",
        "dry_multiplier": "weaken repeated sequences; 0 is off",
        "xtc_probability": "how often the likeliest tokens are left out; 0 is off",
        "seed": "the same seed says the same again",
    }
    return [
        Option(
            names.get(field.name, field.name.replace("_", "-")),
            "sampling",
            field.name,
            meanings.get(field.name, ""),
            _whole if field.type == "int" else _number,
        )
        for field in fields(SamplingSettings)
        if field.type in ("int", "float")
    ]


OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        *_sampling(),
        Option(
            "logit-bias",
            "sampling",
            "logit_bias",
            "TOKEN=X,…: added to logits; none clears",
            _biases,
            show=_biases_shown,
        ),
        _with_choices("drafter", "drafting", "drafter", "who drafts", tuple(DRAFTERS)),
        Option("draft-max", "drafting", "draft_max", "most tokens in a draft", _whole),
        _with_choices("accept", "drafting", "accept", "how drafts are judged", get_args(AcceptRule)),
        Option("max-tokens", "limits", "max_tokens", "most tokens in an answer", _whole),
        Option(
            "stop",
            "limits",
            "stop",
            "end answers at these texts, separated by commas",
            _texts,
            show=_texts_shown,
        ),
        _with_choices(
            "when-full", "chat", "when_full", "what to do when the context is full", get_args(WhenFull)
        ),
        Option("ctx", "load", "ctx", "context size in tokens", _whole),
        Option("threads", "load", "threads", "CPU threads of the target", _whole),
        Option("draft-threads", "load", "draft_threads", "CPU threads of the draft", _whole),
        Option("gpu-layers", "load", "gpu_layers", "target layers on the GPU; -1 is all", _whole),
        Option("draft-gpu-layers", "load", "draft_gpu_layers", "draft layers on the GPU; -1 is all", _whole),
        _with_choices("kv-type", "load", "kv_type", "type of the KV caches", get_args(KvType)),
        _with_choices("draft-kv-type", "load", "draft_kv_type", "of the draft alone", get_args(KvType)),
        _with_choices("flash-attn", "load", "flash_attn", "for both models", get_args(FlashAttention)),
    )
}


def find_option(name: str) -> Option:
    """The option called so, with dashes or underscores. Raises `UsageProblem` that suggests the nearest."""
    from specdec_cli.registry.catalog import nearest

    wanted = name.lstrip("-").replace("_", "-").lower()
    by_field = {option.field.replace("_", "-"): option for option in OPTIONS.values()}
    option = OPTIONS.get(wanted) or by_field.get(wanted)
    if option is None:
        near = nearest(wanted, OPTIONS)
        raise UsageProblem(
            f"there is no option called {name!r}", hint=f"did you mean {near}?" if near else "/set lists all"
        )
    return option


def parse_value(option: Option, text: str) -> object:
    """What was typed as a value. Raises `UsageProblem`."""
    if option.choices and text not in option.choices:
        raise UsageProblem(f"{option.name} cannot be {text!r}", hint="one of " + ", ".join(option.choices))
    try:
        return option.parse(text)
    except ValueError as error:
        raise UsageProblem(f"{option.name} cannot be {text!r}: {error}") from error
