"""Weights and vocabulary of one GGUF file, loaded by llama.cpp."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specdec_cli.errors import EngineFault, SpecdecError
from specdec_cli.llama.context import LlamaContext
from specdec_cli.llama.grammar import LlamaConstraint, new_constraint
from specdec_cli.llama.log import captured_log, native_reason
from specdec_cli.llama.native import native
from specdec_cli.llama.text import LlamaText
from specdec_cli.settings import ContextSettings, KvType

_FLASH_ATTENTION = {"auto": -1, "off": 0, "on": 1}
_KV_TYPES: dict[KvType, int] = {
    "f32": 0,
    "f16": 1,
    "q4_0": 2,
    "q4_1": 3,
    "q5_0": 6,
    "q5_1": 7,
    "q8_0": 8,
    "bf16": 30,
}
"""ggml's numbers, which GGUF files hold too: llama-cpp-python names most of them, but not bf16."""


class LlamaModel:
    """A loaded model. Implements `protocols.LoadedModel`; freed by `close`, after its contexts."""

    def __init__(self, pointer: Any, path: Path) -> None:
        library = native()
        self._pointer = pointer
        self._path = path
        self._text = LlamaText(library.llama_model_get_vocab(pointer))
        self._n_ctx_train = int(library.llama_model_n_ctx_train(pointer))
        self._size_bytes = int(library.llama_model_size(pointer))

    @property
    def path(self) -> Path:
        """The file it was loaded from."""
        return self._path

    @property
    def text(self) -> LlamaText:
        """Its vocabulary."""
        return self._text

    @property
    def n_ctx_train(self) -> int:
        """The context length it was trained on; 0 when the file does not say."""
        return self._n_ctx_train

    @property
    def size_bytes(self) -> int:
        """Bytes of all its tensors."""
        return self._size_bytes

    @property
    def chat_template(self) -> str | None:
        """The Jinja source of its chat template, when the file carries one."""
        source = native().llama_model_chat_template(self._pointer, None)
        return source.decode("utf-8", "replace") if source else None

    @property
    def template_tokens(self) -> tuple[str, str]:
        """The bos and eos tokens as templates write them; empty strings where there are none."""
        return self._text.bos_text(), self._text.eos_text()

    def new_context(self, settings: ContextSettings, max_rows: int) -> LlamaContext:
        """A context of `settings.n_ctx` positions; `SpecdecError` with llama.cpp's reason when it cannot be."""
        if self._pointer is None:
            raise EngineFault("new context on a closed model")
        library = native()
        parameters = library.llama_context_default_params()
        n_batch = max(1, min(settings.n_batch, settings.n_ctx), max_rows)
        parameters.n_ctx = settings.n_ctx
        parameters.n_batch = parameters.n_ubatch = n_batch
        parameters.n_seq_max = 1
        parameters.n_outputs_max = parameters.n_outputs_max_per_seq = max_rows
        if settings.threads is not None:
            parameters.n_threads = parameters.n_threads_batch = settings.threads
        parameters.type_k = parameters.type_v = _KV_TYPES[settings.kv_type]
        parameters.flash_attn_type = _FLASH_ATTENTION[settings.flash_attention]
        parameters.swa_full = settings.swa_full
        parameters.offload_kqv = settings.gpu_layers != 0
        parameters.no_perf = True
        with captured_log() as lines:
            pointer = library.llama_init_from_model(self._pointer, parameters)
        if not pointer:
            raise SpecdecError(
                f"a context of {settings.n_ctx} tokens cannot be made for {self._path.name}: {native_reason(lines)}",
                hint="try a smaller --ctx, or --kv-type f16",
                code="memory.context",
            )
        return LlamaContext(
            pointer,
            n_ctx=settings.n_ctx,
            n_ctx_train=self._n_ctx_train,
            n_vocab=self._text.n_vocab,
            max_rows=max_rows,
        )

    def new_constraint(self, grammar: str) -> LlamaConstraint:
        """The initial state of a grammar (GBNF) over this vocabulary. Raises `UsageProblem` for a wrong one."""
        if self._pointer is None:
            raise EngineFault("a grammar for a closed model")
        vocabulary = native().llama_model_get_vocab(self._pointer)
        return new_constraint(vocabulary, self._text.token_bytes(), grammar)

    def close(self) -> None:
        """Free the weights."""
        if self._pointer is None:
            return
        pointer, self._pointer = self._pointer, None
        native().llama_model_free(pointer)
