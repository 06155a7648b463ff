"""llama.cpp's grammar sampler as `protocols.Constraint`."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from specdec_cli.errors import EngineFault, SpecdecError, UsageProblem
from specdec_cli.grammar.check import ROOT, allows_bytes_one_by_one, check_grammar
from specdec_cli.llama.log import captured_log, native_reason
from specdec_cli.llama.native import native
from specdec_cli.llama.token_bytes import AN_END, NO_BYTE, TokenBytes, unfinished
from specdec_cli.protocols import TokenIds

_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""llama_token_data."""
_MANY = 1000


class LlamaConstraint:
    """The state of one grammar over one vocabulary. Frees its native part when nobody holds it any more.

    llama.cpp ends the process when it is made to accept what does not fit. So every token is asked for first.
    """

    def __init__(self, pointer: Any, tokens: TokenBytes, asking: Asking, pending: bytes = b"") -> None:
        self._pointer = pointer
        weakref.finalize(self, native().llama_sampler_free, pointer)
        self._tokens = tokens
        self._asking = asking
        self._pending = pending
        """The bytes of a character that the last token left unfinished."""
        self._ended: bool | None = False

    @property
    def complete(self) -> bool:
        """Whether the text so far is a whole one: the generation may end here."""
        return bool(self.allowed(self._tokens.ends).any())

    @property
    def ended(self) -> bool:
        """Whether nothing may follow the accepted tokens."""
        if self._ended is None:
            # A vocabulary may have no token to end with: a text is then whole when nothing fits.
            may_end = self.complete or len(self._tokens.ends) == 0
            self._ended = may_end and not self.allowed(self._asking.openers).any()
        return self._ended

    def allowed(self, tokens: TokenIds) -> npt.NDArray[np.bool_]:
        """For each of `tokens`, whether it may come next."""
        if self._ended:
            return np.zeros(len(tokens), dtype=bool)
        if len(tokens) > self._asking.many:
            # Where the grammar leaves little choice, few of them begin with a byte that may come next.
            possible = self._may_begin()[self._tokens.first_bytes[tokens]]
            admitted = np.zeros(len(tokens), dtype=bool)
            admitted[possible] = self._asking.ask(self._pointer, tokens[possible])
        else:
            admitted = self._asking.ask(self._pointer, tokens)
        if not self._pending:
            return np.asarray(admitted & self._tokens.fits_after_character[tokens])
        for index in np.flatnonzero(admitted):
            admitted[index] = self._tokens.continues_character(int(tokens[index]), self._pending)
        return admitted

    def _may_begin(self) -> npt.NDArray[np.bool_]:
        """For each byte, and for `AN_END`, whether what comes next may begin with it."""
        openers = self._tokens.openers
        possible = np.zeros(NO_BYTE + 1, dtype=bool)
        possible[self._tokens.first_bytes[openers[self.allowed(openers)]]] = True
        possible[AN_END] = True
        return possible

    def forced(self, limit: int) -> bytes:
        """The bytes that must come next, at most `limit`. None are found where bytes cannot be asked for singly."""
        if not self._asking.bytes_one_by_one:
            return b""
        found = bytearray()
        state, asked = self, np.concatenate((self._asking.openers, self._tokens.ends))
        while len(found) < limit:
            possible = asked[state.allowed(asked)]
            token = int(possible[0]) if len(possible) == 1 else -1
            if token < 0 or self._tokens.is_end[token] or len(self._tokens.pieces[token]) != 1:
                break
            state = self.fork() if state is self else state
            state._advance(token)
            found += self._tokens.pieces[token]
        return bytes(found)

    def accept(self, token: int) -> None:
        """Advance by one token. Raises `EngineFault` for one that is not allowed."""
        if not self.allowed(np.array([token]))[0]:
            raise EngineFault(f"token {token} was accepted, which the grammar does not allow")
        if self._tokens.is_end[token]:
            self._ended = True
        else:
            self._advance(token)

    def _advance(self, token: int) -> None:
        """Go on with an allowed token that is text."""
        native().llama_sampler_accept(self._pointer, token)
        self._pending = unfinished(self._pending + self._tokens.pieces[token]) or b""
        self._ended = None

    def fork(self) -> LlamaConstraint:
        """An independent copy in the same state."""
        copy = LlamaConstraint(
            native().llama_sampler_clone(self._pointer), self._tokens, self._asking, self._pending
        )
        copy._ended = self._ended
        return copy


class Asking:
    """How llama.cpp is asked about tokens; one for all states of a grammar."""

    def __init__(self, tokens: TokenBytes, bytes_one_by_one: bool) -> None:
        n_vocab = len(tokens.pieces)
        self.bytes_one_by_one = bytes_one_by_one
        self.openers = tokens.openers if bytes_one_by_one else np.flatnonzero(~tokens.is_end)
        """Tokens of which one is allowed if any is that is text."""
        self.many = max(_MANY, len(tokens.openers)) if bytes_one_by_one else n_vocab
        """For more tokens than this it pays to ask for first bytes before."""
        self._data = np.zeros(n_vocab, dtype=_TOKEN_DATA)
        self._array = native().llama_token_data_array()
        self._pointer_type = ctypes.POINTER(native().llama_token_data)

    def ask(self, sampler: Any, tokens: TokenIds) -> npt.NDArray[np.bool_]:
        """For each of `tokens`, whether the sampler leaves it a chance. Each may be asked for once."""
        count = len(tokens)
        if count == 0:
            return np.zeros(0, dtype=bool)
        if count > len(self._data) or tokens.min() < 0 or tokens.max() >= len(self._data):
            raise EngineFault(f"a grammar was asked for a token outside the vocabulary of {len(self._data)}")
        self._data["id"][:count] = tokens
        self._data["logit"][:count] = 0
        array = self._array
        array.data = ctypes.cast(self._data.ctypes.data, self._pointer_type)
        array.size, array.selected, array.sorted = count, -1, False
        native().llama_sampler_apply(sampler, ctypes.byref(array))
        return np.asarray(self._data["logit"][:count] == 0)


def new_constraint(vocabulary: Any, tokens: TokenBytes, grammar: str) -> LlamaConstraint:
    """A grammar's initial state. Raises `UsageProblem` for one that is wrong or that this vocabulary cannot write."""
    bytes_one_by_one = allows_bytes_one_by_one(check_grammar(grammar))
    library = native()
    with captured_log() as lines:
        pointer = library.llama_sampler_init_grammar(vocabulary, grammar.encode("utf-8"), ROOT.encode())
    if not pointer:
        raise SpecdecError(
            f"llama.cpp cannot use the grammar: {native_reason(lines)}", code="sampling.grammar_refused"
        )
    asking = Asking(tokens, bytes_one_by_one)
    constraint = LlamaConstraint(pointer, tokens, asking)
    if not constraint.allowed(asking.openers).any():
        raise UsageProblem(
            "the grammar begins with characters that this model's vocabulary cannot write",
            code="sampling.grammar_dead_end",
        )
    return constraint
