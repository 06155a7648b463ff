"""Codes are stable: every one in the source is in the catalogue, every one there is in use, and the page is current."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from specdec_cli.findings_catalog import CODES, catalog_as_markdown

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "specdec_cli"
TABLES = {"findings_catalog.py", "gguf/problems.py", "registry/problems.py", "compat/codes.py"}
NO_CODES_IN = {"hardware/cgroups.py"}
"""Names of control files, `memory.max`, look like codes."""

DESIGNED = {
    "vocab", "template", "family", "arch", "quant", "size", "context", "memory", "kv", "file", "hardware"
}  # fmt: skip
PREFIXES = DESIGNED | {code.partition(".")[0] for code in CODES}
CODE = re.compile(rf"(?:{'|'.join(sorted(PREFIXES))})\.[a-z0-9_]+")


def codes_in(path: Path) -> Iterator[str]:
    """Strings that look like a code, and whatever is passed as `code=`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
            yield node.value
        if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.Constant):
            value = node.value.value
            if isinstance(value, str):
                yield value


def used_codes() -> dict[str, str]:
    used = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name not in TABLES | NO_CODES_IN:
            used |= dict.fromkeys(codes_in(path), name)
    return used


def test_every_code_in_the_source_is_in_the_catalogue() -> None:
    assert {code: place for code, place in used_codes().items() if code not in CODES} == {}


def test_every_code_in_the_catalogue_is_in_use() -> None:
    assert CODES.keys() - used_codes().keys() == set()


def test_the_catalogue_holds_every_group_of_the_design_and_whole_sentences() -> None:
    assert {code.partition(".")[0] for code in CODES} >= DESIGNED
    for code, meaning in CODES.items():
        assert re.fullmatch(r"[a-z]+\.[a-z0-9_]+", code), code
        assert meaning.endswith("."), code
        assert "|" not in meaning, code


def test_the_page_is_current() -> None:
    page = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    assert page == catalog_as_markdown(), "python -m specdec_cli.findings_catalog > docs/findings.md"
