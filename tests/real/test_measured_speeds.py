"""What a real model was measured to do replaces what `check` predicted of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specdec_cli.llama.backend import LlamaBackend
from tests.support.cli import run_cli

pytestmark = pytest.mark.real
PROMPT = "Write a long story about a river."


def test_the_prediction_is_replaced_by_what_ran(demo_files: dict[str, Path]) -> None:
    target, draft = ("--target", demo_files["F16"]), ("--draft", demo_files["Q4_0"])

    def specdec(command: str, *arguments: object) -> dict[str, Any]:
        result = run_cli(command, *target, *arguments, "--json", backend=LlamaBackend)
        assert result.code == 0, result
        return result.document

    def prediction(*arguments: object) -> dict[str, Any]:
        found: dict[str, Any] = specdec("check", *draft, *arguments)["prediction"]
        return found

    assert not prediction()["measured"]
    plain = specdec("run", PROMPT, "-n", "40", "--drafter", "none")
    found = prediction()
    assert found["plain_tps"] == pytest.approx(plain["generation"]["tokens_per_second"])
    assert (found["measured"], found["speedup_measured"]) == (True, False)
    drafted = specdec("run", *draft, PROMPT, "-n", "80")
    assert drafted["speculation"]["drafted"] > 0
    found = prediction()
    assert (found["measured"], found["speedup_measured"]) == (True, True)
    assert found["speedup"]["low"] == pytest.approx(drafted["speculation"]["gain"], rel=1e-3)
    assert not prediction("--kv-type", "q8_0")["measured"]
    assert not prediction("--machine", "cpu-32gb")["measured"]
