"""`--accept`: which rule judges, that the summary names it, and that the two rules do what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import CliResult, run_cli
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import ToyBackend, table_logits

WORDS = table_logits(7, end_bias=-9.0)
HOT = ("hello", "-n", "40", "--temp", "1", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--seed", "3")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return write_tiny_model(tmp_path / "target.gguf"), write_tiny_model(tmp_path / "draft.gguf")


def run(pair: tuple[Path, Path], *arguments: object, drafter: tuple[object, ...] = ()) -> CliResult:
    models = drafter or ("--draft", pair[1], "--drafter", "model")
    return run_cli(
        "run", "--target", pair[0], *models, *arguments, backend=lambda: ToyBackend(target_logits=WORDS)
    )


def test_auto_is_reject_where_a_model_drafts_by_chance(pair: tuple[Path, Path]) -> None:
    assert "(model, reject)" in run(pair, *HOT).stderr
    assert "(model, reject)" in run(pair, *HOT, "--accept", "auto").stderr
    assert "(ngram, match)" in run(pair, *HOT, drafter=("--drafter", "ngram")).stderr
    assert "(model, match)" in run(pair, "hello", "-n", "4").stderr


def test_match_gives_the_tokens_of_plain_decoding(pair: tuple[Path, Path]) -> None:
    plain = run(pair, *HOT, drafter=("--drafter", "none"))
    matched = run(pair, *HOT, "--accept", "match")
    assert "(model, match)" in matched.stderr
    assert matched.stdout == plain.stdout
    assert run(pair, *HOT, "--accept", "reject").stdout != plain.stdout


def test_reject_reaches_a_drafter_that_would_match_by_itself(pair: tuple[Path, Path]) -> None:
    result = run(pair, *HOT, "--accept", "reject", drafter=("--drafter", "ngram"))
    assert "(ngram, reject)" in result.stderr


def test_a_rule_that_is_none_or_has_no_use_is_refused(pair: tuple[Path, Path]) -> None:
    run(pair, "hello", "--accept", "typical").refused(2, "--accept typical", "auto, match, reject")
    run(pair, "hello", "--accept", "match", drafter=("--drafter", "none")).refused(2, "--accept has no use")
