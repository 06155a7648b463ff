"""The contracts the engine is built on: a context that decodes, the text of its tokens, and where both come from.

`specdec_cli.llama` implements them over llama.cpp; the tests implement them with a toy model. Nothing here
imports another room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from specdec_cli.settings import ContextSettings

Logits = npt.NDArray[np.float32]
"""Rows of logits, shape (rows, n_vocab), float32."""

TokenIds = npt.NDArray[np.int64]


class ModelContext(Protocol):
    """One model's KV cache for one sequence, and the decode that extends it.

    The cache holds positions 0 … length − 1. Only `decode` extends it and only `cut` shortens it.
    """

    interrupted: Callable[[], bool] | None
    """Asked while a long input is decoded; True makes `decode` raise `KeyboardInterrupt`."""

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

    @property
    def seconds(self) -> float:
        """Seconds spent inside native decodes so far: what `time.target` and `time.draft` are made of."""

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


class Constraint(Protocol):
    """The state of a grammar after the committed text.

    Constrained sampling is the sampler's chain over the logits of the allowed tokens alone, the others being
    -inf (llama.cpp with its grammar applied first).

    Whoever owns the committed text owns the constraint and calls `accept` for committed tokens and no others.
    Drafters and the judge look ahead on a `fork`, so that nothing has to be taken back.
    """

    @property
    def ended(self) -> bool:
        """Whether nothing may follow the accepted tokens: the generation is over, the walk stops."""

    @property
    def complete(self) -> bool:
        """Whether the text so far is a whole one: the generation may end here."""

    def allowed(self, tokens: TokenIds) -> npt.NDArray[np.bool_]:
        """For each of `tokens` (int64 ids, shape (n,)), whether it may come next. Changes nothing."""

    def forced(self, limit: int) -> bytes:
        """The bytes that must come next whatever the model says, at most `limit` of them.

        Empty where there is a choice, and where the generation may end.
        """

    def accept(self, token: int) -> None:
        """Advance by one token, which must be allowed."""

    def fork(self) -> Constraint:
        """An independent copy in the same state."""


@dataclass(frozen=True)
class BackendDevice:
    """A device that the native engine can compute on, as it reports it now. Sizes in bytes; 0 is unknown."""

    name: str
    description: str
    kind: str
    """cpu, gpu, igpu (shares the host's memory), accelerator, meta or unknown."""
    total_bytes: int
    free_bytes: int


class LoadedModel(Protocol):
    """A model's weights in memory, from which contexts are made."""

    @property
    def path(self) -> Path:
        """The file it was loaded from (shard 1 of a sharded model)."""

    @property
    def text(self) -> TokenText:
        """Its vocabulary."""

    @property
    def n_ctx_train(self) -> int:
        """The context length it was trained on; 0 when the file does not say."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all its tensors."""

    @property
    def chat_template(self) -> str | None:
        """The Jinja source of its chat template, when the file carries one."""

    @property
    def template_tokens(self) -> tuple[str, str]:
        """The bos and eos tokens as templates write them; empty strings where there are none."""

    def new_context(self, settings: ContextSettings, max_rows: int) -> ModelContext:
        """A context able to return `max_rows` rows of logits per decode. Raises `SpecdecError` with llama.cpp's
        own reason when it cannot be made."""

    def new_constraint(self, grammar: str) -> Constraint:
        """The initial state of a grammar in llama.cpp's notation (GBNF) over this vocabulary.

        Raises `UsageProblem`, with line and column, for one that does not parse or that admits nothing.
        """

    def close(self) -> None:
        """Free the weights. Close its contexts first; closing twice is harmless."""


class Backend(Protocol):
    """The native engine: loads models and changes their quantization."""

    @property
    def name(self) -> str:
        """What it computes on: CPU, CUDA, Metal, Vulkan, …"""

    @property
    def version(self) -> str:
        """Version of the binding, for reports."""

    def devices(self) -> tuple[BackendDevice, ...]:
        """Every device, the CPU included."""

    def load(
        self, path: Path, settings: ContextSettings, progress: Callable[[float], bool] | None = None
    ) -> LoadedModel:
        """Load weights; `progress` hears 0 … 1 and may answer False to stop (`KeyboardInterrupt` then).

        Raises `SpecdecError` with llama.cpp's own reason when the file cannot be loaded.
        """

    def quantize(self, source: Path, destination: Path, quantization: str) -> None:
        """Write `source` again as `destination` in another quantization ("F16", "Q4_0", …)."""
