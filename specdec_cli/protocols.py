"""The two contracts the engine is built on: a context that decodes, and the text of its tokens.

`specdec_cli.llama` implements them over llama.cpp; the tests implement them with a toy model. Nothing here
imports another room.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Logits = npt.NDArray[np.float32]
"""Rows of logits, shape (rows, n_vocab), float32."""


class ModelContext(Protocol):
    """One model's KV cache for one sequence, and the decode that extends it.

    The cache holds positions 0 … length − 1. Only `decode` extends it and only `cut` shortens it.
    """

    @property
    def n_vocab(self) -> int:
        """Number of entries in the vocabulary; valid token ids are 0 … n_vocab − 1."""

    @property
    def n_ctx(self) -> int:
        """How many positions the cache can hold."""

    @property
    def n_ctx_train(self) -> int:
        """The context length the model was trained on."""

    @property
    def max_rows(self) -> int:
        """The most rows of logits one `decode` call may ask for."""

    @property
    def length(self) -> int:
        """How many positions are in the cache now."""

    def decode(self, tokens: Sequence[int], rows: int) -> Logits:
        """Append `tokens` to the cache; return logits after each of the last `rows` of them.

        Shape (rows, n_vocab). The array is a view that the next `decode` overwrites: copy what must outlive
        it. `rows` may be 0 (nothing is computed for output). Longer inputs than one native batch are split.
        Raises `SpecdecError` when the cache is full or the native decode fails; the cache then still holds
        exactly `length` positions.
        """

    def cut(self, length: int) -> bool:
        """Drop every position from `length` on. False when the model's memory cannot do that."""

    def close(self) -> None:
        """Free the context. Closing twice is harmless."""


class TokenText(Protocol):
    """From text to token ids and from token ids to bytes, for one vocabulary."""

    @property
    def n_vocab(self) -> int:
        """Number of entries in the vocabulary."""

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Token ids of `text`; `add_special` adds bos/eos as the model wants, `parse_special` reads `<|…|>`."""

    def piece(self, token: int) -> bytes:
        """The bytes a token stands for, whole, however long; empty for control tokens."""

    def is_end_of_generation(self, token: int) -> bool:
        """Whether the model ends its answer with this token (eos, eot, …)."""
