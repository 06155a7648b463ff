"""What files of a family usually say, so that a pair that disagrees can be told *which* file looks stale.

Families are recognised by a few tokens at known ids, never by a name: names are what uploads get wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specdec_cli.compat.report import Role
from specdec_cli.compat.tokens import shown
from specdec_cli.findings import Finding
from specdec_cli.gguf.vocabulary import Vocabulary

SAME_PRE_TOKENIZERS: tuple[frozenset[str], ...] = (
    frozenset(
        [
            "llama3",
            "llama-v3",
            "llama-bpe",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "jina-v5-nano",
        ]
    ),
    frozenset(["qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2"]),
    frozenset(
        [
            "gpt-2",
            "phi-2",
            "jina-es",
            "jina-de",
            "jina-v2-es",
            "jina-v2-de",
            "gigachat",
            "a.x-4.0",
            "mellum",
            "modern-bert",
        ]
    ),
    frozenset(["gpt-4o", "llama4", "kanana2", "talkie"]),
    frozenset(["bailingmoe", "bailingmoe2", "llada-moe"]),
    frozenset(["glm4", "glm5"]),
)
"""Names that llama.cpp gives one and the same rule (`llama_vocab::impl::load`)."""

_PRE_WITH_BOS = SAME_PRE_TOKENIZERS[0] | {"tekken", "chameleon"}
_BYTE_PAIR_MODELS = ("gpt2", "gemma4")


@dataclass(frozen=True)
class Family:
    """The usual values of one family's tokenizer, and why they matter."""

    name: str
    model: str
    """`tokenizer.ggml.model`."""
    signature: tuple[tuple[int, str], ...]
    """Tokens at fixed ids that no other family has there."""
    pre: str | None
    """Pre-tokenizer; None where llama.cpp has none for this kind of tokenizer."""
    add_bos: bool
    reason: str
    """Why `add_bos` is what it is."""
    turn_end: str | None = None
    """The token that ends a turn of an instruct model."""
    n_tokens: int | None = None
    """Size of the vocabulary, where the signature alone would fit other families too."""


_TRAINED_WITH_BOS = "the model was trained with bos in front of every text"
_NO_BOS = "the model knows no bos, and one in front of the prompt is noise to it"

FAMILIES: tuple[Family, ...] = (
    Family(
        "Llama 3",
        "gpt2",
        ((128000, "<|begin_of_text|>"), (128009, "<|eot_id|>")),
        "llama-bpe",
        True,
        _TRAINED_WITH_BOS,
        "<|eot_id|>",
    ),
    Family(
        "DeepSeek-R1 distill (Llama)",
        "gpt2",
        ((128000, "<｜begin▁of▁sentence｜>"), (128001, "<｜end▁of▁sentence｜>")),
        "llama-bpe",
        True,
        _TRAINED_WITH_BOS,
    ),
    Family(
        "Qwen 2–3",
        "gpt2",
        ((151643, "<|endoftext|>"), (151644, "<|im_start|>")),
        "qwen2",
        False,
        _NO_BOS,
        "<|im_end|>",
    ),
    Family(
        "DeepSeek-R1 distill (Qwen)",
        "gpt2",
        ((151643, "<｜end▁of▁sentence｜>"), (151646, "<｜begin▁of▁sentence｜>")),
        "deepseek-r1-qwen",
        True,
        _TRAINED_WITH_BOS,
    ),
    Family(
        "Gemma 1–3",
        "llama",
        ((0, "<pad>"), (1, "<eos>"), (2, "<bos>")),
        None,
        True,
        "without <bos> in front Gemma answers nonsense",
        "<end_of_turn>",
    ),
    Family(
        "Gemma 4",
        "gemma4",
        ((0, "<pad>"), (1, "<eos>"), (2, "<bos>")),
        None,
        True,
        "without <bos> in front Gemma answers nonsense",
    ),
    Family(
        "Llama 2, Mistral 7B",
        "llama",
        ((0, "<unk>"), (1, "<s>"), (2, "</s>")),
        None,
        True,
        _TRAINED_WITH_BOS,
        n_tokens=32000,
    ),
    Family(
        "Mistral (Tekken)",
        "gpt2",
        ((0, "<unk>"), (1, "<s>"), (2, "</s>"), (3, "[INST]")),
        "tekken",
        True,
        _TRAINED_WITH_BOS,
    ),
    Family(
        "SmolLM",
        "gpt2",
        ((0, "<|endoftext|>"), (1, "<|im_start|>"), (2, "<|im_end|>"), (3, "<repo_name>")),
        "smollm",
        False,
        _NO_BOS,
        "<|im_end|>",
    ),
    Family("Command R", "gpt2", ((0, "<PAD>"), (5, "<BOS_TOKEN>")), "command-r", True, _TRAINED_WITH_BOS),
    Family(
        "DeepSeek LLM",
        "gpt2",
        ((100000, "<｜begin▁of▁sentence｜>"),),
        "deepseek-llm",
        True,
        _TRAINED_WITH_BOS,
    ),
    Family("DeepSeek V3", "gpt2", ((0, "<｜begin▁of▁sentence｜>"),), "deepseek-v3", True, _TRAINED_WITH_BOS),
)
"""The families people pair. A family that is not here only loses the hint which file is stale."""


@dataclass(frozen=True)
class StaleField:
    """A field in which a file contradicts its own family."""

    field: str
    """`pre_tokenizer`, `add_bos` or `end_of_turn`."""
    family: str
    stated: str
    usual: str
    reason: str


def family_of(vocabulary: Vocabulary) -> Family | None:
    """The family whose signature tokens are where they belong, or None."""
    for family in FAMILIES:
        if (
            vocabulary.model == family.model
            and family.n_tokens in (None, vocabulary.n_tokens)
            and all(_has_token(vocabulary, token, text) for token, text in family.signature)
        ):
            return family
    return None


def _has_token(vocabulary: Vocabulary, token: int, text: str) -> bool:
    return token < vocabulary.n_tokens and vocabulary.tokens[token] == text.encode()


def uses_pre_tokenizer(vocabulary: Vocabulary) -> bool:
    """Whether llama.cpp splits text by `tokenizer.ggml.pre` at all: byte-pair tokenizers only."""
    return vocabulary.model in _BYTE_PAIR_MODELS


def same_pre_tokenizer(one: str | None, other: str | None) -> bool:
    """Whether two names stand for one rule; a missing name is llama.cpp's `default`."""
    one, other = one or "default", other or "default"
    return one == other or any(one in group and other in group for group in SAME_PRE_TOKENIZERS)


def effective_add_bos(vocabulary: Vocabulary) -> bool:
    """What llama.cpp does: the stated flag, else its default for this tokenizer. Gemma 4 always has bos."""
    if vocabulary.model == "gemma4":
        return True
    if vocabulary.add_bos is not None:
        return vocabulary.add_bos
    return vocabulary.model in ("llama", "bert") or (
        vocabulary.model == "gpt2" and vocabulary.pre in _PRE_WITH_BOS
    )


def effective_add_eos(vocabulary: Vocabulary) -> bool:
    """What llama.cpp does: the stated flag, else its default for this tokenizer."""
    return vocabulary.model == "t5" if vocabulary.add_eos is None else vocabulary.add_eos


def stale_fields(vocabulary: Vocabulary) -> Mapping[str, StaleField]:
    """The fields in which a file contradicts its own family, by name. Empty for an unknown family."""
    family = family_of(vocabulary)
    if family is None:
        return {}
    found = {}
    if family.pre is not None and vocabulary.pre in (None, "", "default"):
        found["pre_tokenizer"] = StaleField(
            "pre_tokenizer",
            family.name,
            f"`{vocabulary.pre}`" if vocabulary.pre else "missing",
            f"`{family.pre}`",
            "text is cut into other tokens than the model was trained on",
        )
    if effective_add_bos(vocabulary) != family.add_bos:
        found["add_bos"] = StaleField(
            "add_bos", family.name, _flag(effective_add_bos(vocabulary)), _flag(family.add_bos), family.reason
        )
    if family.turn_end is not None and not _names_turn_end(vocabulary, family.turn_end):
        found["end_of_turn"] = StaleField(
            "end_of_turn",
            family.name,
            f"eos {shown(vocabulary, vocabulary.eos)}, eot {shown(vocabulary, vocabulary.eot)}",
            f"`{family.turn_end}` as eos or eot",
            "answers run on where a program does not find it by its text, as llama.cpp does",
        )
    return found


def family_findings(role: Role, stale: Mapping[str, StaleField]) -> list[Finding]:
    """One finding for each stale field. Only the target tokenizes, so the draft's are information."""
    return [
        Finding(
            "warning" if role == "target" and field.field != "end_of_turn" else "info",
            _CODES[field.field],
            f"the {role} looks stale: {_LABELS[field.field]} is {field.stated}, and files of its family "
            f"({field.family}) have {field.usual}; {field.reason}",
            hint="download a newer conversion of this model",
        )
        for field in stale.values()
    ]


_CODES = {
    "pre_tokenizer": "family.pre_tokenizer",
    "add_bos": "family.add_bos",
    "end_of_turn": "family.end_of_turn",
}
_LABELS = {"pre_tokenizer": "pre-tokenizer", "add_bos": "add_bos", "end_of_turn": "the end of a turn"}


def _names_turn_end(vocabulary: Vocabulary, turn_end: str) -> bool:
    """True also for a file without a template that uses the token: base models end texts, not turns."""
    if turn_end not in (vocabulary.chat_template or ""):
        return True
    named = (vocabulary.special_ids.get(name) for name in ("eos", "eot", "eom"))
    return any(token is not None and vocabulary.tokens[token] == turn_end.encode() for token in named)


def _flag(value: bool) -> str:
    return "true" if value else "false"
