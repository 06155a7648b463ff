"""The vocabulary a model file carries: token texts, token types, special tokens, chat template."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from specdec_cli.gguf.metadata import StringArray

SPECIAL_KEYS: dict[str, str] = {
    "bos": "tokenizer.ggml.bos_token_id",
    "eos": "tokenizer.ggml.eos_token_id",
    "eot": "tokenizer.ggml.eot_token_id",
    "eom": "tokenizer.ggml.eom_token_id",
    "unk": "tokenizer.ggml.unknown_token_id",
    "sep": "tokenizer.ggml.seperator_token_id",
    "pad": "tokenizer.ggml.padding_token_id",
    "cls": "tokenizer.ggml.cls_token_id",
    "mask": "tokenizer.ggml.mask_token_id",
    "fim_pre": "tokenizer.ggml.fim_pre_token_id",
    "fim_suf": "tokenizer.ggml.fim_suf_token_id",
    "fim_mid": "tokenizer.ggml.fim_mid_token_id",
    "fim_pad": "tokenizer.ggml.fim_pad_token_id",
    "fim_rep": "tokenizer.ggml.fim_rep_token_id",
    "fim_sep": "tokenizer.ggml.fim_sep_token_id",
}
"""Our name of each special token, and the metadata key that holds its id (`seperator` is GGUF's spelling)."""

DEFAULT_SPECIAL_IDS: dict[str, dict[str, int]] = {
    "llama": {"bos": 1, "eos": 2, "unk": 0},
    "bert": {"bos": 101, "unk": 100, "sep": 102, "pad": 0, "mask": 103},
    "gpt2": {"bos": 11, "eos": 11},
    "t5": {"eos": 1, "unk": 2, "pad": 0},
    "plamo2": {"bos": 1, "eos": 2, "unk": 0, "pad": 3},
}
"""What llama.cpp assumes, by tokenizer model, when a file does not say (`llama_vocab::impl::load`)."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """A tokenizer's vocabulary as the file states it. Compare two with `compat`, not with `==`."""

    model: str
    """`tokenizer.ggml.model`: `llama` (SentencePiece), `gpt2` (byte-pair), `bert`, `t5`, `rwkv`, …"""
    pre: str | None
    """`tokenizer.ggml.pre`, the pre-tokenizer; None when the file does not say."""
    tokens: StringArray
    """The text of every token, by id."""
    types: array[int] | None
    """A `TokenType` for every token, by id; None when the file has none. At least as long as `tokens`."""
    special_ids: Mapping[str, int] = field(default_factory=dict)
    """Ids as the file states them, by the names of `SPECIAL_KEYS`. An id outside the vocabulary is left out,
    as llama.cpp ignores it, and is in `stray_ids` instead."""
    stray_ids: Mapping[str, int] = field(default_factory=dict)
    """Special ids that the file states and the vocabulary does not have."""
    add_bos: bool | None = None
    """Whether the tokenizer puts bos before a text; None when the file does not say."""
    add_eos: bool | None = None
    chat_template_bytes: bytes | None = None
    """The chat template as the file has it: `chat_template` decodes it."""

    @property
    def n_tokens(self) -> int:
        """Number of entries; llama.cpp's `llama_vocab_n_tokens`."""
        return len(self.tokens)

    @property
    def chat_template(self) -> str | None:
        """The Jinja source of the chat template; None when the file has none."""
        raw = self.chat_template_bytes
        return None if raw is None else raw.decode("utf-8", "replace")

    @property
    def bos(self) -> int | None:
        """Id of the token that opens a text, as stated."""
        return self.special_ids.get("bos")

    @property
    def eos(self) -> int | None:
        """Id of the token that ends a text, as stated."""
        return self.special_ids.get("eos")

    @property
    def eot(self) -> int | None:
        """Id of the token that ends a turn, as stated."""
        return self.special_ids.get("eot")

    @property
    def unk(self) -> int | None:
        """Id of the unknown token, as stated."""
        return self.special_ids.get("unk")

    @property
    def pad(self) -> int | None:
        """Id of the padding token, as stated."""
        return self.special_ids.get("pad")

    @property
    def sep(self) -> int | None:
        """Id of the separator token, as stated."""
        return self.special_ids.get("sep")

    def effective_special_id(self, name: str) -> int | None:
        """The id llama.cpp uses: the stated one, else its default for this tokenizer model, if any."""
        stated = self.special_ids.get(name)
        if stated is not None:
            return stated
        default = DEFAULT_SPECIAL_IDS.get(self.model, {}).get(name)
        return default if default is not None and default < self.n_tokens else None

    def text(self, token: int) -> str:
        """A token as the file spells it, for people to read; bytes that are not UTF-8 are escaped."""
        return self.tokens[token].decode("utf-8", "backslashreplace")

    def type_of(self, token: int) -> int | None:
        """The `TokenType` number of a token; None when the file has no types."""
        return None if self.types is None else self.types[token]

    def ids_of_type(self, token_type: int) -> Iterator[int]:
        """Every id whose stated type is `token_type`, in order."""
        if self.types is not None:
            yield from (
                i for i, value in zip(range(self.n_tokens), self.types, strict=False) if value == token_type
            )
