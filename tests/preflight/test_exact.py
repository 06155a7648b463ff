"""`check --exact`: llama.cpp's own figures for a real, tiny model, through the real program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specdec_cli.llama.backend import LlamaBackend
from tests.support.cli import run_cli
from tests.support.tiny_models import write_tiny_model


def test_exact_figures_replace_the_estimate(tmp_path: Path) -> None:
    target = write_tiny_model(tmp_path / "target.gguf", layers=4)
    draft = write_tiny_model(tmp_path / "draft.gguf", layers=1, seed=1)

    def parts(*more: object) -> dict[str, Any]:
        result = run_cli("check", "--target", target, "--draft", draft, "--json", *more, backend=LlamaBackend)
        assert result.code == 0, result
        document = result.document
        totals: dict[str, Any] = {"target": {}, "draft": {}}
        for device in document["memory"]["devices"]:
            for role, sizes in totals.items():
                for part, size in device["parts"][role].items():
                    sizes[part] = sizes.get(part, 0) + size
        return totals

    estimated, exact = parts(), parts("--exact")
    for role in ("target", "draft"):
        assert exact[role]["weights"] == estimated[role]["weights"]
        assert abs(exact[role]["kv"] - estimated[role]["kv"]) <= 0.01 * estimated[role]["kv"] + 10_486
        assert 0 < exact[role]["compute"] != estimated[role]["compute"]


def test_exact_needs_the_file_here(tmp_path: Path) -> None:
    result = run_cli("check", "--pair", "demo", "--exact", backend=LlamaBackend)
    result.refused(1, "--exact needs the file")
