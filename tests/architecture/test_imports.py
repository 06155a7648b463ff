"""The rooms import in one direction, and each heavy library has one room."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "specdec_cli"

BASE = {"errors", "findings", "settings", "protocols", "speeds"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "settings": set(),
    "findings": set(),
    "speeds": set(),
    "protocols": {"settings"},
    "gguf": BASE,
    "hardware": BASE,
    "grammar": BASE,
    "llama": BASE | {"grammar"},
    "sampling": BASE,
    "verify": BASE | {"sampling", "draft"},
    "draft": BASE | {"sampling"},
    "engine": BASE | {"sampling", "verify", "draft"},
    "registry": BASE | {"gguf"},
    "compat": BASE | {"gguf"},
    "memory": BASE | {"gguf", "hardware"},
    "predict": BASE | {"gguf", "hardware", "memory"},
    "preflight": BASE | {"gguf", "hardware", "memory", "predict", "compat"},
    "recommend": BASE | {"hardware", "memory", "predict", "registry"},
    "findings_catalog": BASE | {"gguf", "registry", "compat"},
    "documents": BASE | {"engine", "draft"},
    "proof": BASE | {"engine", "draft", "sampling", "documents"},
    "assemble": BASE | {"engine", "draft", "verify", "sampling", "llama", "hardware"},
    "ui": BASE
    | {"engine", "draft", "documents", "gguf", "hardware", "memory", "compat", "predict", "preflight"}
    | {"registry", "recommend", "proof", "bench"},
}
"""What a room may import of ours, itself aside. Rooms not named (cli, chat, bench, …) may import everything below."""

UPPER = {"cli", "chat", "bench", "assemble", "ui", "__main__"}
EXCLUSIVE = {
    "llama_cpp": {"llama"},
    "huggingface_hub": {"registry"},
    "psutil": {"hardware"},
    "typer": {"cli"},
    "rich": {"ui"},
    "jinja2": {"engine"},
    "prompt_toolkit": {"chat"},
    "pygal": {"bench"},
}


def room_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported_modules(path: Path) -> list[str]:
    modules = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.append(node.module)
            if node.module == "specdec_cli":
                modules += [f"specdec_cli.{alias.name}" for alias in node.names]
    return modules


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_imports_only_what_its_room_may(path: Path) -> None:
    room = room_of(path)
    for module in imported_modules(path):
        top, _, rest = module.partition(".")
        if top == "specdec_cli" and rest:
            other = rest.partition(".")[0]
            if other == room or other.startswith("__"):
                continue
            if room in MAY_IMPORT:
                assert other in MAY_IMPORT[room], f"{room} imports {other}"
            elif room not in ("cli", "__main__"):
                assert other != "cli", f"{room} imports cli"
        elif top in EXCLUSIVE:
            assert room in EXCLUSIVE[top], f"{room} imports {top}"


def test_every_room_is_known_here() -> None:
    rooms = {room_of(path) for path in FILES} - {"__init__"}
    assert rooms <= MAY_IMPORT.keys() | UPPER | {"registry"}, rooms - MAY_IMPORT.keys() - UPPER


def test_no_file_outgrows_a_few_screens_and_no_function_one() -> None:
    too_long = []
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > 300:
            too_long.append(f"{path.name}: {text.count(chr(10))} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and path.parent.name != "cli":
                length = (node.end_lineno or node.lineno) - node.lineno
                if length > 60:
                    too_long.append(f"{path.name}: {node.name} has {length} lines")
    assert not too_long


LIGHT = "llama_cpp numpy huggingface_hub psutil rich jinja2 prompt_toolkit platformdirs"


@pytest.mark.parametrize(
    "code",
    [
        "import specdec_cli",
        "from specdec_cli.cli.main import main; main(['--help'])",
        "from specdec_cli.cli.main import main; main(['run', '--help'])",
    ],
)
def test_help_needs_no_heavy_library(code: str) -> None:
    report = f"; import sys; print([m for m in {LIGHT!r}.split() if m in sys.modules], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stderr.strip() == "[]"


def test_importing_the_package_loads_no_command_line() -> None:
    code = "import specdec_cli, sys; print('typer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
