"""`specdec tune`, the real program over a toy machine: what it finds, stores, and says."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from specdec_cli.cli.environment import Environment
from specdec_cli.cli.main import main
from specdec_cli.hardware.system import SystemFacts
from specdec_cli.registry.tuned import TunedSettings, load_tuned, pair_key, save_tuned
from specdec_cli.settings import ContextSettings
from tests.support.cli import CliResult
from tests.support.timed import Cost, TimedBackend
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import table_logits

WORDS = table_logits(7, end_bias=-9.0)
SMALL = ("--tasks", "chat,json", "--runs", "2", "-n", "24")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return write_tiny_model(tmp_path / "target.gguf"), write_tiny_model(tmp_path / "draft.gguf")


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = SystemFacts(4, 4, 4.0, 1 << 40, 1 << 40, False)
    for module in ("hardware.threads", "cli.tune_service", "hardware.system"):
        monkeypatch.setattr(f"specdec_cli.{module}.system_facts", lambda: facts)


def two_threads_are_best(settings: ContextSettings) -> Cost:
    step = 0.010 if settings.threads == 2 else 0.020
    return lambda tokens: step + 0.0005 * tokens


def nothing_helps(_settings: ContextSettings) -> Cost:
    return lambda tokens: 0.010 * tokens


def tune(pair: tuple[Path, Path], *arguments: object, cost: object = two_threads_are_best) -> CliResult:
    backend = TimedBackend(target_logits=WORDS, target_cost=cost)  # type: ignore[arg-type]
    stdout, stderr = io.StringIO(), io.StringIO()
    environment = Environment(
        stdout=stdout,
        stderr=stderr,
        stdin=io.BytesIO(),
        variables={},
        open_backend=lambda: backend,
        clock=backend.clock,
    )
    typed = ["tune", "--target", *map(str, (pair[0], "--draft", pair[1], *arguments))]
    code = main(typed, environment)
    assert all(model.closed for model in backend.models)
    return CliResult(code, stdout.getvalue(), stderr.getvalue())


def key_of(pair: tuple[Path, Path]) -> str:
    key = pair_key(None, str(pair[0]), str(pair[1]))
    assert key is not None
    return key


def test_what_is_surely_faster_is_stored_and_named(pair: tuple[Path, Path]) -> None:
    result = tune(pair, *SMALL)
    assert result.code == 0
    stored = load_tuned(key_of(pair))
    assert stored is not None
    assert stored.threads == 2
    assert stored.kv_type is None
    assert stored.gain is not None
    assert stored.gain > 1.2
    assert "threads: 4 threads → 2 threads" in result.stdout
    assert "  * 2 threads" in result.stdout
    assert "over the defaults" in result.stdout
    assert "stored for this machine: " in result.stdout
    assert "not lossless" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 200


def test_where_nothing_is_faster_nothing_is_stored_and_what_was_is_dropped(pair: tuple[Path, Path]) -> None:
    save_tuned(key_of(pair), TunedSettings(threads=1))
    result = tune(pair, *SMALL, "--draft-max", "2", "--threads", "4", cost=nothing_helps)
    assert result.code == 0
    assert load_tuned(key_of(pair)) is None
    assert "no setting is surely faster here than the defaults: nothing is stored" in result.stdout
    assert "what an earlier tuning had stored is removed" in result.stdout


def test_what_is_given_is_not_asked(pair: tuple[Path, Path]) -> None:
    stdout = tune(pair, *SMALL, "--threads", "4", "--draft-kv-type", "f32", "--draft-max", "3").stdout
    assert "threads: 4" not in stdout
    assert "draft KV cache" not in stdout
    assert "model:3" in stdout
    assert "model:4" not in stdout


def test_the_json_document(pair: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "tune.json"
    tune(pair, *SMALL, "--draft-max", "2", "--json", file)
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["schema"] == 1
    assert document["target"]["path"] == str(pair[0])
    assert document["questions"][0]["name"] == "threads"
    assert document["questions"][0]["chosen"] == "2 threads"
    assert document["over_defaults"]["low"] > 1
    assert document["stored"]["threads"] == 2
    result = tune(pair, *SMALL, "--draft-max", "2", "--json", "-", "-q")
    assert result.stdout.count("\n") == 1
    assert result.document["stored"]["threads"] == 2


def test_forgetting(pair: tuple[Path, Path]) -> None:
    save_tuned(key_of(pair), TunedSettings(threads=1))
    assert "forgotten" in tune(pair, "--forget").stderr
    assert load_tuned(key_of(pair)) is None
    assert "nothing was stored" in tune(pair, "--forget").stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--runs", "1"], "--runs 1: must be from 2 to 6"),
        (["--runs", "7"], "--runs 7"),
        (["--tasks", "poems"], "'poems'"),
        (["-n", "0"], "--max-tokens 0"),
        (["--kv-type", "q8_0", "--lossy-kv"], "--lossy-kv has no use"),
    ],
)
def test_options_that_make_no_sense_are_one_line(
    pair: tuple[Path, Path], arguments: list[str], word: str
) -> None:
    tune(pair, *arguments).refused(2, word)
