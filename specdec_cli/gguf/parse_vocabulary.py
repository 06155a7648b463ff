"""From metadata to the vocabulary, refusing what llama.cpp would misread or abort on."""

from __future__ import annotations

from array import array
from collections import Counter
from typing import Any, NoReturn

from specdec_cli.gguf.header import Vocabulary
from specdec_cli.gguf.metadata import MetaArray, Metadata, StringArray
from specdec_cli.gguf.problems import printable
from specdec_cli.gguf.source import Window
from specdec_cli.gguf.types import ValueType
from specdec_cli.gguf.vocabulary import SPECIAL_KEYS

TOKENS = "tokenizer.ggml.tokens"
TYPES = "tokenizer.ggml.token_type"
SCORES = "tokenizer.ggml.scores"
MODEL = "tokenizer.ggml.model"
NO_VOCABULARY = ("no_vocab", "none")
HASH_BUCKETS = 64


def parse_vocabulary(window: Window, metadata: Metadata) -> Vocabulary | None:
    """The vocabulary; None when the file has no token list, or says that it is not to be used.

    Raises `HeaderProblem` with `file.vocabulary`.
    """
    model = metadata.get(MODEL)
    if TOKENS not in metadata or model in NO_VOCABULARY:
        return None
    if not isinstance(model, str):
        _refuse(window, f"there are tokens but no {MODEL}")
    tokens = _tokens(window, metadata)
    types = _per_token(window, metadata, TYPES, len(tokens), (ValueType.INT32,))
    _per_token(window, metadata, SCORES, len(tokens), (ValueType.FLOAT32, ValueType.INT32))
    _check_texts(window, tokens)
    stated = {name: _special_id(window, metadata, key) for name, key in SPECIAL_KEYS.items()}
    pre = metadata.get("tokenizer.ggml.pre")
    return Vocabulary(
        model=model,
        pre=pre if isinstance(pre, str) else None,
        tokens=tokens,
        types=types,
        special_ids={n: i for n, i in stated.items() if i is not None and 0 <= i < len(tokens)},
        stray_ids={n: i for n, i in stated.items() if i is not None and not 0 <= i < len(tokens)},
        add_bos=_flag(metadata, "tokenizer.ggml.add_bos_token"),
        add_eos=_flag(metadata, "tokenizer.ggml.add_eos_token"),
        chat_template_bytes=metadata.text_bytes("tokenizer.chat_template"),
    )


def _refuse(window: Window, message: str) -> NoReturn:
    window.refuse(
        f"the vocabulary cannot be loaded: {message}",
        code="file.vocabulary",
        hint="the file is damaged or badly converted: take another one of this model",
    )


def _tokens(window: Window, metadata: Metadata) -> StringArray:
    value = metadata[TOKENS]
    tokens = value.elements if isinstance(value, MetaArray) else None
    if not isinstance(tokens, StringArray):
        _refuse(window, f"{TOKENS} is not a list of texts")
    if not len(tokens):
        _refuse(window, "it has no tokens")
    return tokens


def _per_token(
    window: Window, metadata: Metadata, key: str, n_tokens: int, types: tuple[ValueType, ...]
) -> array[Any] | None:
    value = metadata.get(key)
    if value is None:
        return None
    numbers = value.elements if isinstance(value, MetaArray) and value.element_type in types else None
    if not isinstance(numbers, array):
        _refuse(window, f"{key} is not a list of numbers of the right type")
    if len(numbers) < n_tokens:
        _refuse(window, f"{key} has {len(numbers):,} entries for {n_tokens:,} tokens")
    return numbers


def _check_texts(window: Window, tokens: StringArray) -> None:
    """Refuse a zero byte in a token (llama.cpp cuts the text there) and a token twice (it aborts the process).

    Empty tokens may repeat: llama.cpp gives each a name of its own. Texts are compared by their hashes, in
    buckets, because a set of all of them would take several times the memory of the header.
    """
    buckets = [array("q") for _ in range(HASH_BUCKETS)]
    for token in tokens:
        if 0 in token:
            at = next(i for i, text in enumerate(tokens) if 0 in text)
            _refuse(window, f"token {at} ({printable(tokens[at])}) has a zero byte in it")
        if token:
            code = hash(token)
            buckets[code % HASH_BUCKETS].append(code)
    for bucket in buckets:
        if len(set(bucket)) < len(bucket):
            twice = Counter(bucket).most_common(1)[0][0]
            _refuse_same_text(window, tokens, twice)


def _refuse_same_text(window: Window, tokens: StringArray, code: int) -> None:
    """Refuse the first two tokens with one text among those with this hash; return if there are none."""
    seen: dict[bytes, int] = {}
    for number, token in enumerate(tokens):
        if token and hash(token) == code:
            if token in seen:
                _refuse(window, f"tokens {seen[token]} and {number} are both {printable(token)}")
            seen[token] = number


def _special_id(window: Window, metadata: Metadata, key: str) -> int | None:
    value = metadata.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        _refuse(window, f"{key} is not a whole number")
    return value


def _flag(metadata: Metadata, key: str) -> bool | None:
    value = metadata.get(key)
    return value if isinstance(value, bool) else None
