"""`check --exact`: what llama.cpp itself says a model and its context take, without allocating them.

With `no_alloc` llama.cpp reads the header, lays everything out and reports sizes in its log. Weights come from
`llama_model_size`; the rest from the log lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from specdec_cli.errors import SpecdecError
from specdec_cli.llama.log import captured_log, native_reason
from specdec_cli.llama.model import LlamaModel
from specdec_cli.llama.native import native
from specdec_cli.settings import ContextSettings

_MIB = 1 << 20
_KEPT_LINES = 200_000
_CACHE = re.compile(r"^(?:llama_kv_cache|llama_memory_recurrent): size = +([\d.]+) MiB")
_CACHE_LAYER = re.compile(r"^(?:llama_kv_cache: |llama_memory_recurrent, )layer +\d+: dev = (\S+)")
_BUFFER = re.compile(r"^\S+: +(\S+) +(compute|output) buffer size = +([\d.]+) MiB")
_WEIGHT_LAYER = re.compile(r"^load_tensors: layer +\d+ assigned to device ([^,\s]+)")


@dataclass(frozen=True)
class ExactSizes:
    """What llama.cpp reports for one model and context, in bytes (its log rounds to 0.01 MiB)."""

    weights: int
    """All loaded tensors, each once."""
    layers_by_device: dict[str, int]
    """How many layers each device holds, the output counted as one."""
    cache_by_device: dict[str, int]
    """KV cache and recurrent state."""
    compute_by_device: dict[str, int]
    """Compute buffers and the rows of logits that are handed out."""

    @property
    def cache(self) -> int:
        """KV cache and recurrent state on all devices."""
        return sum(self.cache_by_device.values())

    @property
    def compute(self) -> int:
        """Compute buffers on all devices."""
        return sum(self.compute_by_device.values())

    @property
    def total(self) -> int:
        """Everything."""
        return self.weights + self.cache + self.compute


def exact_sizes(path: Path, settings: ContextSettings, max_rows: int) -> ExactSizes:
    """Sizes for the model at `path` with a context made as `LlamaModel.new_context` would make it.

    Takes about 0.1 s and allocates next to nothing. Raises `SpecdecError` with llama.cpp's reason when the
    file cannot be read or the context cannot be made.
    """
    library = native()
    parameters = library.llama_model_default_params()
    parameters.n_gpu_layers = settings.gpu_layers
    parameters.load_mtp = False
    parameters.no_alloc = True
    parameters.load_mode = library.LLAMA_LOAD_MODE_NONE
    with captured_log(keep=_KEPT_LINES) as lines:
        pointer = library.llama_model_load_from_file(str(path).encode("utf-8"), parameters)
        if not pointer:
            raise SpecdecError(f"{path.name} cannot be read: {native_reason(lines)}", code="file.load")
        model = LlamaModel(pointer, path)
        try:
            weights = model.size_bytes
            model.new_context(settings, max_rows).close()
        finally:
            model.close()
    return parse_sizes([line for _, line in lines], weights)


def parse_sizes(lines: Iterable[str], weights: int) -> ExactSizes:
    """Reads the sizes out of llama.cpp's log lines. `weights` is passed through."""
    cache: Counter[str] = Counter()
    compute: Counter[str] = Counter()
    layers: Counter[str] = Counter()
    pending: Counter[str] = Counter()
    for line in lines:
        if found := _CACHE_LAYER.match(line):
            pending[found[1]] += 1
        elif found := _CACHE.match(line):
            # The line tells one cache's size; the layer lines before it, on which devices its layers lie.
            for device, count in pending.items():
                cache[device] += round(float(found[1]) * _MIB * count / pending.total())
            pending.clear()
        elif found := _BUFFER.match(line):
            compute[found[1]] += round(float(found[3]) * _MIB)
        elif found := _WEIGHT_LAYER.match(line):
            layers[found[1]] += 1
    return ExactSizes(weights, dict(layers), dict(cache), dict(compute))
