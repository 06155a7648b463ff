"""What is loaded before an answer: `--help` and `list` answer at once, and a command costs nothing of the others."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from specdec_cli.cli.commands import COMMANDS

HEAVY = ["llama_cpp", "numpy", "huggingface_hub", "rich", "jinja2", "prompt_toolkit", "pydantic"]


def run_and_name_modules(*arguments: str) -> tuple[str, set[str]]:
    """(Standard output of the program, every module that it loaded)."""
    code = f"from specdec_cli.cli.main import main; main({list(arguments)!r})"
    report = "; import sys; print(list(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return done.stdout, set(ast.literal_eval(done.stderr))


def test_list_loads_nothing_heavy_once_the_machine_is_known() -> None:
    first, loaded = run_and_name_modules("list")
    assert "llama_cpp" in loaded  # it has been asked for its devices
    second, loaded = run_and_name_modules("list")
    assert not loaded.intersection(HEAVY)
    assert second == first


def test_help_loads_no_conversion_library() -> None:
    _, loaded = run_and_name_modules("--help")
    assert not loaded.intersection(HEAVY)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_loaded_without_the_others(name: str) -> None:
    modules = {place.partition(".")[0] for place in COMMANDS.values()}
    output, loaded = run_and_name_modules(name, "--help")
    assert f"Usage: specdec {name}" in output
    own = COMMANDS[name].partition(".")[0]
    assert {module for module in modules if f"specdec_cli.cli.{module}" in loaded} == {own}
