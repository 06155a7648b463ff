"""What every test stands in: caches and settings of its own, no Hub but an emulated one."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's folders."""
    home = tmp_path_factory.mktemp("home")
    for variable, name in (
        ("SPECDEC_CACHE", "cache"),
        ("SPECDEC_CONFIG", "config"),
        ("SPECDEC_STATE", "state"),
        ("HF_HOME", "huggingface"),
    ):
        monkeypatch.setenv(variable, str(home / name))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    return home


@pytest.fixture(scope="session")
def demo_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """SmolLM2-135M-Instruct, as installed (Q4_1) and made by llama.cpp (Q4_0, Q8_0, F16, F32)."""
    from specdec_cli.llama.backend import LlamaBackend
    from specdec_cli.registry.catalog import load_catalog
    from specdec_cli.registry.resolve import resolve_model

    base = resolve_model("smollm2-135m-q4_1", load_catalog()).path
    assert base is not None
    folder = tmp_path_factory.mktemp("demo")
    files = {"Q4_1": base}
    for quant in ("Q4_0", "Q8_0", "F16", "F32"):
        files[quant] = folder / f"SmolLM2-135M-Instruct-{quant}.gguf"
        LlamaBackend().quantize(base, files[quant], quant)
    return files
