"""Exact sizes asked in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from specdec_cli.errors import SpecdecError
from specdec_cli.llama import apart
from specdec_cli.llama.apart import exact_sizes_apart
from specdec_cli.llama.exact import exact_sizes
from specdec_cli.settings import ContextSettings
from tests.support.tiny_models import write_tiny_model

SETTINGS = ContextSettings(n_ctx=256)


def test_the_answer_is_the_same_as_in_this_process(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "tiny.gguf")
    assert exact_sizes_apart(path, SETTINGS, 4) == exact_sizes(path, SETTINGS, 4)


def test_a_refusal_comes_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(SpecdecError, match=r"broken\.gguf cannot be read"):
        exact_sizes_apart(tmp_path / "broken.gguf", SETTINGS, 4)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a small program that aborts")
def test_a_native_crash_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing = tmp_path / "python"
    crashing.write_text("#!/bin/sh\nkill -ABRT $$\n")
    crashing.chmod(0o755)
    monkeypatch.setattr(apart.sys, "executable", str(crashing))
    with pytest.raises(SpecdecError, match=r"crashed while it looked at any\.gguf"):
        exact_sizes_apart(tmp_path / "any.gguf", SETTINGS, 4)
