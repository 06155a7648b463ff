"""SmolLM2-135M-Instruct, loaded once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from specdec_cli.llama.backend import LlamaBackend
from specdec_cli.llama.model import LlamaModel
from specdec_cli.settings import ContextSettings


@pytest.fixture(scope="session")
def real_models(demo_files: dict[str, Path]) -> Iterator[Mapping[str, LlamaModel]]:
    """By quantization: F16 (a target that has something to gain), Q4_0 (its draft), Q4_1 (as shipped)."""
    backend = LlamaBackend()
    models = {quant: backend.load(demo_files[quant], ContextSettings()) for quant in ("F16", "Q4_0", "Q4_1")}
    yield models
    for model in models.values():
        model.close()
