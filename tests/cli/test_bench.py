"""`specdec bench`, the real program over a toy model: the table, the files it writes, and how it ends."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from specdec_cli.bench.rounds import read_rounds
from specdec_cli.draft.catalog import DRAFTERS
from tests.support.cli import CliResult, run_cli
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import ToyBackend, table_logits

WORDS = table_logits(7, end_bias=-9.0)
SMALL = ("--tasks", "chat,json", "--runs", "2", "-n", "16")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return write_tiny_model(tmp_path / "target.gguf"), write_tiny_model(tmp_path / "draft.gguf")


def bench(pair: tuple[Path, Path], *arguments: object, backend: ToyBackend | None = None) -> CliResult:
    chosen = backend or ToyBackend(target_logits=WORDS)
    return run_cli("bench", "--target", pair[0], "--draft", pair[1], *arguments, backend=lambda: chosen)


def test_the_table_fits_80_columns_and_is_markdown(pair: tuple[Path, Path]) -> None:
    result = bench(pair, *SMALL, "--drafters", "model:1-2,ngram:16")
    assert result.code == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    table = [line for line in lines if " | " in line]
    heads, rule, *rows = [[cell.strip() for cell in line.split(" | ")] for line in table]
    assert heads[:3] == ["task", "drafter", "tok/s"]
    assert all(re.fullmatch("-+:?", cell) for cell in rule)
    assert [row[1] for row in rows] == ["plain", "model:1", "model:2", "ngram:16"] * 2
    assert [row[0] for row in rows if row[0]] == ["chat", "json"]
    assert re.fullmatch(r"\d+\.\d\d× \(\d+\.\d\d–\d+\.\d\d\)", rows[1][3])
    assert "answers: 12 of 12 the same as plain decoding's, token for token" in result.stdout
    assert "model:2 over all tasks: " in result.stdout
    assert "8 blocks" not in result.stderr
    assert "4 prompts, 4 variants: up to about" in result.stderr


def test_by_default_every_drafter_is_compared(pair: tuple[Path, Path]) -> None:
    stdout = bench(pair, "--tasks", "chat", "--runs", "1", "-n", "8").stdout
    for name, kind in DRAFTERS.items():
        assert (f" | {name} " in stdout) is kind.speculates


def test_the_json_document(pair: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    result = bench(pair, *SMALL, "--drafters", "model:2,auto", "--json", file)
    assert result.code == 0
    assert " | " in result.stdout
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    assert document["schema"] == 1
    assert document["lossless"] is True
    assert document["interrupted"] is False
    assert document["variants"] == ["plain", "model:2", "auto"]
    assert document["target"]["path"] == str(pair[0])
    assert document["draft"]["path"] == str(pair[1])
    assert document["settings"]["runs"] == 2
    assert len(document["cells"]) == 6
    assert len(document["samples"]) == 12
    for cell in document["cells"]:
        assert sum(cell["time"].values()) == pytest.approx(1.0, abs=1e-6)
        if cell["variant"] != "plain":
            assert cell["speedup"]["low"] <= cell["speedup"]["value"] <= cell["speedup"]["high"]
            assert len(cell["ratios"]) == 2
            assert cell["answers"] == {"same": 2, "tie": 0, "different": 0}
    assert {entry["variant"] for entry in document["overall"]} == {"model:2", "auto"}
    assert set(document["foresight"]) == {"chat", "json"}
    assert document["profile"]["target_seconds"]["1"] > 0


def test_json_on_standard_output_is_the_only_thing_there(pair: tuple[Path, Path]) -> None:
    result = bench(pair, *SMALL, "--drafters", "model:3", "--json", "-", "-q")
    assert result.stdout.count("\n") == 1
    assert result.document["schema"] == 1
    assert result.stderr == ""


def test_the_page_is_whole_and_needs_no_network(pair: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    assert bench(pair, *SMALL, "--drafters", "model:2,ngram", "--html", file).code == 0
    page = file.read_text(encoding="utf-8")
    svgs = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(svgs) == 5
    for svg in svgs:
        ElementTree.fromstring(svg)
    addresses = set(re.findall(r"https?://[^\"'\s<)]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    for forbidden in ("<script", "<link", "@import", " src=", "<!--"):
        assert forbidden not in page
    for word in (
        "Speed-up by task",
        "What a decode costs here",
        "model:2",
        "summarize"[:0] + "json",
        "token for token",
    ):
        assert word in page


def test_html_without_its_library_is_one_line_and_a_hint(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygal", None)
    backend = ToyBackend(target_logits=WORDS)
    bench(pair, "--html", tmp_path / "report.html", backend=backend).refused(1, "pygal", "specdec-cli[html]")
    assert backend.models == []


def test_rounds_are_written_for_later(pair: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "rounds.jsonl"
    bench(pair, *SMALL, "--drafters", "model:2", "--rounds", file)
    recorded = read_rounds(file)
    assert len(recorded) == 8
    assert {sum(record.tokens for record in recording.rounds) for recording in recorded} == {16}


def test_the_profile_is_a_table_with_bars(pair: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    result = bench(pair, "--profile", "--json", file)
    assert result.code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "█" in result.stdout
    assert "model pays" in result.stdout
    assert "draft: one decode of n tokens" in result.stdout
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["profile"]["depth"] > 50
    assert "32" in document["profile"]["target_seconds"]
    alone = run_cli("bench", "--target", pair[0], "--profile", backend=ToyBackend)
    assert "draft" not in alone.stdout.split("pays: ")[0]


def test_everything_is_closed_and_loaded_once(pair: tuple[Path, Path]) -> None:
    backend = ToyBackend(target_logits=WORDS)
    bench(pair, *SMALL, "--drafters", "model:2,ngram", backend=backend)
    assert [model.path for model in backend.models] == list(pair)
    assert all(model.closed for model in backend.models)


def test_without_a_use_for_it_the_draft_is_not_loaded(pair: tuple[Path, Path]) -> None:
    backend = ToyBackend(target_logits=WORDS)
    result = run_cli("bench", "--target", pair[0], *SMALL, "--drafters", "ngram", backend=lambda: backend)
    assert result.code == 0
    assert "draft " not in result.stdout
    assert [model.path for model in backend.models] == [pair[0]]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--tasks", "poems"], "'poems'"),
        (["--runs", "0"], "--runs 0"),
        (["--runs", "13"], "from 1 to 12"),
        (["-n", "1"], "--max-tokens 1"),
        (["--drafters", "magic"], "'magic'"),
        (["--drafters", "none"], "always measured"),
        (["--drafters", "model:99"], "model:99"),
        (["--drafters", "ngram"], "--draft has no use"),
        (["--profile", "--runs", "2"], "--runs has no use"),
        (["--profile", "--html", "x.html"], "--html has no use"),
        (["--json", "same", "--html", "same"], "a file each"),
        (["--threads", "0"], "--threads 0"),
    ],
)
def test_options_that_make_no_sense_are_one_line(
    pair: tuple[Path, Path], arguments: list[str], word: str
) -> None:
    bench(pair, *arguments).refused(2, word)


def test_files_that_cannot_be_written_are_found_before_anything_is_loaded(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    backend = ToyBackend()
    bench(pair, "--json", tmp_path / "none" / "x.json", backend=backend).refused(1, "there is no folder")
    bench(pair, "--rounds", tmp_path, backend=backend).refused(1, "that is a folder")
    assert backend.models == []


def test_a_drafter_without_its_draft_and_a_target_that_cannot_speculate(pair: tuple[Path, Path]) -> None:
    run_cli("bench", "--target", pair[0], "--drafters", "model", backend=ToyBackend).refused(
        2, "needs a --draft"
    )
    stuck = ToyBackend(target_options={"rolls_back": False})
    result = bench(pair, *SMALL, backend=stuck)
    assert result.code == 1
    assert "cannot speculate" in result.stderr
    assert all(model.closed for model in stuck.models)
