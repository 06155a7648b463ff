"""`run --grammar` and `--json-schema`: the real command line over a toy model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import CliResult, run_cli
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import ToyBackend, table_logits

GRAMMAR = 'root ::= "the cat sits" | "the dog" | "the dog barks"'
DRAFTERS = (
    ["--drafter", "none"],
    ["--drafter", "ngram"],
    ["--drafter", "model", "--accept", "match"],
    ["--drafter", "auto", "--accept", "match"],
)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return write_tiny_model(tmp_path / "target.gguf"), write_tiny_model(tmp_path / "draft.gguf")


@pytest.fixture
def grammar(tmp_path: Path) -> Path:
    (tmp_path / "animals.gbnf").write_text(GRAMMAR)
    return tmp_path / "animals.gbnf"


def run(pair: tuple[Path, Path], *arguments: object, **more: Any) -> CliResult:
    backend = ToyBackend(target_logits=table_logits(7, end_bias=-9.0))
    models = ["--target", pair[0]]
    if not {"none", "ngram"} & set(arguments):
        models += ["--draft", pair[1]]
    return run_cli("run", *models, *arguments, backend=lambda: backend, **more)


@pytest.mark.parametrize("temperature", ["0", "2"])
def test_every_drafter_satisfies_the_grammar_in_the_same_words(
    pair: tuple[Path, Path], grammar: Path, temperature: str
) -> None:
    sampling = ["--temp", temperature, "--seed", "4"]
    answers = {run(pair, "hello", "--grammar", grammar, *drafter, *sampling).stdout for drafter in DRAFTERS}
    assert len(answers) == 1
    assert answers < {"the cat sits", "the dog", "the dog barks"}


def test_the_document_tells_what_was_forced(pair: tuple[Path, Path], grammar: Path) -> None:
    document = run(pair, "hello", "--grammar", grammar, "--drafter", "ngram", "--json").document
    assert document["finish_reason"] == "stop"
    forced = document["speculation"]["by_source"]["grammar"]
    assert forced["drafted"] == forced["accepted"] > 0
    assert document["findings"] == []


def test_an_answer_cut_short_says_why(pair: tuple[Path, Path], grammar: Path) -> None:
    result = run(pair, "hello", "--grammar", grammar, "-n", "3", "--drafter", "none")
    assert result.code == 0
    assert "the answer ends before its grammar lets it (length)" in result.stderr
    assert "--max-tokens" in result.stderr
    document = run(pair, "hello", "--grammar", grammar, "-n", "3", "--drafter", "none", "--json").document
    assert document["finish_reason"] == "length"
    assert [finding["code"] for finding in document["findings"]] == ["sampling.grammar_unfinished"]


def test_a_schema_comes_from_a_file_or_standard_input(pair: tuple[Path, Path], tmp_path: Path) -> None:
    schema = json.dumps({"enum": [12, 345]})
    (tmp_path / "schema.json").write_text(schema)
    # The toy vocabulary has no digits: what counts is that the schema arrives as a grammar.
    for result in (
        run(pair, "hello", "--json-schema", tmp_path / "schema.json", "--drafter", "none"),
        run(pair, "hello", "--json-schema", "-", "--drafter", "none", stdin=schema.encode()),
    ):
        result.refused(1, "the grammar allows no token")


def test_what_contradicts_itself_is_refused(pair: tuple[Path, Path], grammar: Path) -> None:
    run(pair, "hi", "--grammar", grammar, "--json-schema", grammar).refused(2, "--grammar and --json-schema")
    run(pair, "--json-schema", "-", stdin=b"hello").refused(2, "standard input cannot be both")
    run(pair, "-f", "-", "--grammar", "-", stdin=b"hello").refused(2, "standard input cannot be both")


def test_bad_files_are_one_line(pair: tuple[Path, Path], tmp_path: Path) -> None:
    run(pair, "hi", "--grammar", tmp_path / "missing").refused(1, "missing cannot be read")
    (tmp_path / "latin").write_bytes(b'root ::= "caf\xe9"')
    run(pair, "hi", "--grammar", tmp_path / "latin").refused(1, "not UTF-8")
    for text, words in {
        'root ::= "a"\nroot2 := "b"': ("line 2, column 7", "`::=` is expected"),
        'root ::= root "a"': ("left recursion",),
        'root ::= ""': ("admits nothing but the empty text",),
        "": ("the grammar has no rules",),
    }.items():
        (tmp_path / "bad.gbnf").write_text(text)
        run(pair, "hi", "--grammar", tmp_path / "bad.gbnf").refused(2, *words)
    for text, words in {
        '{"type": "integer", "multipleOf": 5}': ("`multipleOf` is not supported",),
        '{"type": "integer",': ("JSON schema, line 1, column",),
        "false": ("admits nothing",),
    }.items():
        (tmp_path / "bad.json").write_text(text)
        run(pair, "hi", "--json-schema", tmp_path / "bad.json").refused(2, *words)
