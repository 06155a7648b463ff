"""One llama.cpp context with one sequence: decode, cut, and logits as one numpy view."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from specdec_cli.errors import EngineFault, SpecdecError
from specdec_cli.llama.native import native
from specdec_cli.protocols import Logits

_SEQUENCE = 0
_ABORTED = 2
_LONG_INPUT = 32
"""From this many tokens on, a decode may be interrupted from inside (below, a round ends soon by itself)."""


class LlamaContext:
    """KV cache and decode of one model. Implements `protocols.ModelContext`; freed by `close`."""

    def __init__(self, pointer: Any, *, n_ctx: int, n_ctx_train: int, n_vocab: int, max_rows: int) -> None:
        library = native()
        self._pointer = pointer
        self._memory = library.llama_get_memory(pointer)
        self._n_ctx = n_ctx
        self._n_ctx_train = n_ctx_train
        self._n_vocab = n_vocab
        self._max_rows = max_rows
        self._length = 0
        self._seconds = 0.0
        self._n_batch = int(library.llama_n_batch(pointer))
        self._batch = library.llama_batch_init(self._n_batch, 0, 1)
        self._tokens = np.ctypeslib.as_array(self._batch.token, (self._n_batch,))
        self._positions = np.ctypeslib.as_array(self._batch.pos, (self._n_batch,))
        self._wants_logits = np.ctypeslib.as_array(self._batch.logits, (self._n_batch,))
        np.ctypeslib.as_array(self._batch.n_seq_id, (self._n_batch,))[:] = 1
        for index in range(self._n_batch):
            self._batch.seq_id[index][0] = _SEQUENCE
        self._no_rows = np.empty((0, n_vocab), dtype=np.float32)
        self._logits_address = 0
        self._logits_view: Logits = self._no_rows
        self.interrupted: Callable[[], bool] | None = None
        """Asked while a long input is decoded; True makes `decode` raise `KeyboardInterrupt`."""

    @property
    def n_vocab(self) -> int:
        """Number of entries in the vocabulary."""
        return self._n_vocab

    @property
    def n_ctx(self) -> int:
        """How many positions the cache can hold."""
        return self._n_ctx

    @property
    def n_ctx_train(self) -> int:
        """The context length the model was trained on; 0 when its file does not say."""
        return self._n_ctx_train

    @property
    def max_rows(self) -> int:
        """The most rows of logits one decode may ask for."""
        return self._max_rows

    @property
    def length(self) -> int:
        """How many positions are in the cache now."""
        return self._length

    @property
    def seconds(self) -> float:
        """Seconds spent inside native decodes so far."""
        return self._seconds

    def decode(self, tokens: Sequence[int], rows: int) -> Logits:
        """Append tokens to the cache; logits after each of the last `rows`. See `protocols.ModelContext`."""
        self._validate(tokens, rows)
        if len(tokens) <= self._n_batch:
            return self._decode_batch(tokens, rows)
        start = self._length
        last_batch = max(rows, 1)
        head, tail = tokens[:-last_batch], tokens[-last_batch:]
        try:
            for offset in range(0, len(head), self._n_batch):
                self._decode_batch(head[offset : offset + self._n_batch], 0)
            return self._decode_batch(tail, rows)
        except BaseException:
            self.cut(start)
            raise

    def _validate(self, tokens: Sequence[int], rows: int) -> None:
        """What would make llama.cpp abort, or decode nonsense, is refused here."""
        if self._pointer is None:
            raise EngineFault("decode on a closed context")
        if not tokens or not 0 <= rows <= min(len(tokens), self._max_rows):
            raise EngineFault(
                f"decode of {len(tokens)} tokens with {rows} rows (this context allows {self._max_rows})"
            )
        if min(tokens) < 0 or max(tokens) >= self._n_vocab:
            raise EngineFault(f"decode of a token id outside the vocabulary of {self._n_vocab}")
        if self._length + len(tokens) > self._n_ctx:
            raise SpecdecError(
                f"the context is full: {self._length} of {self._n_ctx} positions used, {len(tokens)} more needed",
                hint="raise --ctx",
                code="context.full",
            )

    def _decode_batch(self, tokens: Sequence[int], rows: int) -> Logits:
        library, count, start = native(), len(tokens), self._length
        self._tokens[:count] = tokens
        self._positions[:count] = np.arange(start, start + count, dtype=np.int32)
        self._wants_logits[:count] = 0
        self._wants_logits[count - rows : count] = 1
        self._batch.n_tokens = count
        guarded = self.interrupted is not None and count >= _LONG_INPUT
        if guarded:
            self._set_abort_callback(self.interrupted)
        begun = perf_counter()
        try:
            status = library.llama_decode(self._pointer, self._batch)
            address = ctypes.addressof(library.llama_get_logits(self._pointer).contents) if rows else 0
            if not rows:
                library.llama_synchronize(self._pointer)
        finally:
            self._seconds += perf_counter() - begun
            if guarded:
                self._set_abort_callback(None)
        if status != 0:
            self._refuse(status, start)
        self._length = start + count
        return self._view(address)[:rows] if rows else self._no_rows

    def _view(self, address: int) -> Logits:
        """All rows llama.cpp may write, as one array over its own buffer; made anew only when it moves."""
        if address != self._logits_address:
            buffer = (ctypes.c_float * (self._max_rows * self._n_vocab)).from_address(address)
            self._logits_view = np.ctypeslib.as_array(buffer).reshape(self._max_rows, self._n_vocab)
            self._logits_address = address
        return self._logits_view

    def _set_abort_callback(self, interrupted: Callable[[], bool] | None) -> None:
        library = native()
        callback_type = library.ggml_abort_callback
        # Kept on self: the library holds only a pointer to it.
        self._abort_callback = callback_type(lambda _data: interrupted()) if interrupted else callback_type()
        library.llama_set_abort_callback(self._pointer, self._abort_callback, None)

    def _refuse(self, status: int, start: int) -> None:
        """A native decode failed: leave the cache as it was before, then say so."""
        native().llama_memory_seq_rm(self._memory, _SEQUENCE, start, -1)
        self._length = start
        if status == _ABORTED:
            raise KeyboardInterrupt
        reason = "no room left in the KV cache" if status == 1 else f"native status {status}"
        raise SpecdecError(f"llama.cpp could not decode: {reason}")

    def cut(self, length: int) -> bool:
        """Drop every position from `length` on. False when the model's memory cannot do that."""
        if self._pointer is None or length < 0:
            raise EngineFault(f"cut to {length} on a closed context or below zero")
        if length >= self._length:
            return True
        done = bool(native().llama_memory_seq_rm(self._memory, _SEQUENCE, length, -1))
        if done:
            self._length = length
        return done

    def close(self) -> None:
        """Free the batch and the context."""
        if self._pointer is None:
            return
        pointer, self._pointer = self._pointer, None
        self._logits_view = self._no_rows
        native().llama_batch_free(self._batch)
        native().llama_free(pointer)
