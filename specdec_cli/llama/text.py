"""Text ↔ tokens of one llama.cpp vocabulary."""

from __future__ import annotations

import ctypes
from typing import Any

from specdec_cli.errors import SpecdecError
from specdec_cli.llama.native import native
from specdec_cli.llama.token_bytes import TokenBytes

_FIRST_BUFFER = 64


class LlamaText:
    """Tokenizes text, and gives the bytes of a token whole, however long. Implements `protocols.TokenText`."""

    def __init__(self, vocabulary: Any) -> None:
        self._vocabulary = vocabulary
        self._n_vocab = int(native().llama_vocab_n_tokens(vocabulary))
        self._pieces: dict[int, bytes] = {}
        self._token_bytes: TokenBytes | None = None
        self._buffer = ctypes.create_string_buffer(_FIRST_BUFFER)

    @property
    def n_vocab(self) -> int:
        """Number of entries in the vocabulary."""
        return self._n_vocab

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Token ids of `text`. Raises `SpecdecError` when llama.cpp cannot tokenize it."""
        data = text.encode("utf-8")
        capacity = len(data) + 8
        for _ in range(2):
            tokens = (native().llama_token * capacity)()
            count = native().llama_tokenize(
                self._vocabulary, data, len(data), tokens, capacity, add_special, parse_special
            )
            if count >= 0:
                return list(tokens[:count])
            capacity = -count
        raise SpecdecError("the prompt cannot be tokenized by this model's vocabulary")

    def piece(self, token: int) -> bytes:
        """The bytes of a token; empty for control tokens. Raises `IndexError` outside the vocabulary."""
        cached = self._pieces.get(token)
        if cached is None:
            cached = self._pieces[token] = self._read_piece(token, special=False)
        return cached

    def token_bytes(self) -> TokenBytes:
        """Every token's bytes, read when first asked for."""
        if self._token_bytes is None:
            self._token_bytes = TokenBytes(self._vocabulary, self.piece)
            self._pieces = dict(enumerate(self._token_bytes.pieces))
        return self._token_bytes

    def special_text(self, token: int) -> str:
        """How a special token is written in a template (`<|im_end|>`); empty for an id that is not there."""
        if not 0 <= token < self._n_vocab:
            return ""
        return self._read_piece(token, special=True).decode("utf-8", "replace")

    def _read_piece(self, token: int, *, special: bool) -> bytes:
        if not 0 <= token < self._n_vocab:
            raise IndexError(f"token {token} is outside the vocabulary of {self._n_vocab}")
        # One call may find the buffer too small; it then says how much it needs as a negative number.
        for _ in range(2):
            size = native().llama_token_to_piece(
                self._vocabulary, token, self._buffer, len(self._buffer), 0, special
            )
            if size >= 0:
                return self._buffer.raw[:size]
            self._buffer = ctypes.create_string_buffer(-size)
        raise SpecdecError(f"llama.cpp cannot give the text of token {token}")

    def is_end_of_generation(self, token: int) -> bool:
        """Whether the model ends its answer with this token."""
        return bool(native().llama_vocab_is_eog(self._vocabulary, token))

    def bos_text(self) -> str:
        """The beginning-of-sequence token as templates write it; empty when there is none."""
        return self.special_text(int(native().llama_vocab_bos(self._vocabulary)))

    def eos_text(self) -> str:
        """The end-of-sequence token as templates write it; empty when there is none."""
        return self.special_text(int(native().llama_vocab_eos(self._vocabulary)))
