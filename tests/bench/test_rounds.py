"""Rounds in a file come back as they were."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from specdec_cli.bench.rounds import Recording, read_rounds, write_rounds
from specdec_cli.bench.values import RoundRecord
from specdec_cli.errors import SpecdecError

ROUNDS = (RoundRecord(5, 0.02, 0.01, 4, 2, 3, "model"), RoundRecord(1, 0.015, 0.0, 0, 0, 1, ""))
RECORDED = [
    Recording("code", 0, "model:4", ROUNDS),
    Recording("code", 0, "plain", ROUNDS[1:]),
    Recording("code", 0, "plain", ROUNDS[1:]),  # plain answers a prompt once per block
    Recording("edit", 0, "plain", ROUNDS[1:] * 3),
]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    stream = io.StringIO()
    write_rounds(stream, RECORDED)
    assert stream.getvalue().count("\n") == 7
    file = tmp_path / "rounds.jsonl"
    file.write_text(stream.getvalue(), encoding="utf-8")
    assert read_rounds(file) == RECORDED


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", '{"task": "code"}', "", '{"task":"a","prompt":0,"variant":"b"}']
)
def test_a_line_that_is_no_round_is_named(tmp_path: Path, line: str) -> None:
    stream = io.StringIO()
    write_rounds(stream, RECORDED)
    file = tmp_path / "rounds.jsonl"
    file.write_text(stream.getvalue() + line + "\n", encoding="utf-8")
    with pytest.raises(SpecdecError, match=r"rounds\.jsonl:8: this is not a recorded round"):
        read_rounds(file)
    with pytest.raises(SpecdecError, match="cannot be read"):
        read_rounds(tmp_path / "missing.jsonl")
