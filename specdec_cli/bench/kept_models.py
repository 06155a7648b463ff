"""A backend that loads each file once and keeps it: contexts come and go, weights stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from specdec_cli.protocols import Backend, BackendDevice, Constraint, LoadedModel, ModelContext, TokenText
from specdec_cli.settings import ContextSettings


class KeptModels:
    """Implements `protocols.Backend` over another one. `close` frees all weights."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._kept: dict[tuple[Path, int, bool], LoadedModel] = {}

    @property
    def name(self) -> str:
        """What it computes on."""
        return self._backend.name

    @property
    def version(self) -> str:
        """Version of the binding."""
        return self._backend.version

    def devices(self) -> tuple[BackendDevice, ...]:
        """Every device, the CPU included."""
        return self._backend.devices()

    def load(
        self, path: Path, settings: ContextSettings, progress: Callable[[float], bool] | None = None
    ) -> LoadedModel:
        """The model as loaded before, placed and read in the same way, or loaded now."""
        key = (path.resolve(), settings.gpu_layers, settings.memory_map)
        if key not in self._kept:
            self._kept[key] = self._backend.load(path, settings, progress)
        return _Lent(self._kept[key])

    def quantize(self, source: Path, destination: Path, quantization: str) -> None:
        """Write `source` again in another quantization."""
        self._backend.quantize(source, destination, quantization)

    def close(self) -> None:
        """Free all weights; the contexts are closed already."""
        while self._kept:
            self._kept.popitem()[1].close()


class _Lent:
    """A loaded model that its borrower cannot free."""

    def __init__(self, model: LoadedModel) -> None:
        self._model = model

    @property
    def path(self) -> Path:
        """See `protocols.LoadedModel`, here and below."""
        return self._model.path

    @property
    def text(self) -> TokenText:
        """Its vocabulary."""
        return self._model.text

    @property
    def n_ctx_train(self) -> int:
        """The context length it was trained on."""
        return self._model.n_ctx_train

    @property
    def size_bytes(self) -> int:
        """Bytes of all its tensors."""
        return self._model.size_bytes

    @property
    def chat_template(self) -> str | None:
        """Its chat template."""
        return self._model.chat_template

    @property
    def template_tokens(self) -> tuple[str, str]:
        """Its bos and eos tokens as templates write them."""
        return self._model.template_tokens

    def new_context(self, settings: ContextSettings, max_rows: int) -> ModelContext:
        """A context of its own for the borrower."""
        return self._model.new_context(settings, max_rows)

    def new_constraint(self, grammar: str) -> Constraint:
        """A grammar over its vocabulary."""
        return self._model.new_constraint(grammar)

    def close(self) -> None:
        """The weights stay."""
