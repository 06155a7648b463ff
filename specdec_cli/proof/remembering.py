"""A context that decodes nothing twice: for many answers to one prompt, which all begin alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specdec_cli.protocols import Logits, ModelContext

KEPT_LOGITS = 256
"""How many logits of a row are remembered, the largest; the others come back as minus infinity. A sampler with a
top-k of no more than this chooses from the one row as from the other."""


@dataclass(frozen=True)
class _Rows:
    """The largest logits of each row, and whose they are. Shape (rows, KEPT_LOGITS)."""

    tokens: npt.NDArray[np.intp]
    logits: Logits


class RememberingContext:
    """Stands for a context, which it leaves open and in no particular state.

    The text that it holds is a list; the real cache follows only when something new has to be decoded. Rows after
    the same text, asked for in the same batch, are those of the first time.
    """

    def __init__(self, context: ModelContext) -> None:
        self._context = context
        self._text: list[int] = []
        self._cached: list[int] = []
        """What the real cache holds."""
        self._remembered: dict[tuple[tuple[int, ...], tuple[int, ...], int], _Rows] = {}
        context.cut(0)

    @property
    def interrupted(self) -> Callable[[], bool] | None:
        """Asked while a long input is decoded."""
        return self._context.interrupted

    @interrupted.setter
    def interrupted(self, interrupted: Callable[[], bool] | None) -> None:
        self._context.interrupted = interrupted

    @property
    def n_vocab(self) -> int:
        """Number of entries in the vocabulary."""
        return self._context.n_vocab

    @property
    def n_ctx(self) -> int:
        """How many positions the cache can hold."""
        return self._context.n_ctx

    @property
    def n_ctx_train(self) -> int:
        """The context length the model was trained on."""
        return self._context.n_ctx_train

    @property
    def max_rows(self) -> int:
        """The most rows of logits one decode may ask for."""
        return self._context.max_rows

    @property
    def length(self) -> int:
        """How many tokens it holds."""
        return len(self._text)

    @property
    def seconds(self) -> float:
        """Seconds spent in real decodes."""
        return self._context.seconds

    def decode(self, tokens: Sequence[int], rows: int) -> Logits:
        """As `protocols.ModelContext`: from memory where it can."""
        if not rows:
            self._text.extend(tokens)
            return np.empty((0, self.n_vocab), dtype=np.float32)
        key = tuple(self._text), tuple(tokens), rows
        known = self._remembered.get(key)
        if known is None:
            known = _largest(self._really_decode(tokens, rows))
            self._remembered[key] = known
        self._text.extend(tokens)
        result = np.full((rows, self.n_vocab), -np.inf, dtype=np.float32)
        np.put_along_axis(result, known.tokens, known.logits, axis=1)
        return result

    def cut(self, length: int) -> bool:
        """Drop every token from `length` on."""
        del self._text[length:]
        return True

    def close(self) -> None:
        """Nothing: the real context has an owner."""

    def _really_decode(self, tokens: Sequence[int], rows: int) -> Logits:
        shared = 0
        for cached, wanted in zip(self._cached, self._text, strict=False):
            if cached != wanted:
                break
            shared += 1
        if not self._context.cut(shared):
            self._context.cut(0)
            shared = 0
        self._cached = self._text[:shared]
        if shared < len(self._text):
            self._context.decode(self._text[shared:], 0)
            self._cached = list(self._text)
        decoded = self._context.decode(tokens, rows)
        self._cached += tokens
        return decoded


def _largest(rows: Logits) -> _Rows:
    count = min(KEPT_LOGITS, rows.shape[1])
    tokens = np.argpartition(-rows, count - 1, axis=1)[:, :count]
    return _Rows(tokens, np.take_along_axis(rows, tokens, axis=1))
