"""`specdec verify`, the real program over a toy model: what it prints, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specdec_cli.assemble import assemble
from specdec_cli.cli import verify_service
from specdec_cli.engine.engine import Engine
from specdec_cli.registry.tuned import TunedSettings, pair_key, save_tuned
from specdec_cli.verify.walk import Judge
from tests.support.cli import CliResult, run_cli
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import ToyBackend
from tests.support.trials import WORDS, SpoiledBackend, one_too_many, shaking

SHORT = ("-n", "16", "--samples", "40")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return write_tiny_model(tmp_path / "target.gguf"), write_tiny_model(tmp_path / "draft.gguf")


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    file = tmp_path / "prompts.txt"
    file.write_text("hello there\nabc\nwhat a day\nonce upon a time\n")
    return file


@pytest.fixture
def judged_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[Judge], None]:
    """Puts another judge into the engine that the command assembles."""

    def put(judge: Judge) -> None:
        def assembling(*arguments: Any) -> Engine:
            engine = assemble(*arguments)
            engine.session.judge = judge
            return engine

        monkeypatch.setattr(verify_service, "assemble", assembling)

    return put


def verify(pair: tuple[Path, Path], *arguments: object, backend: ToyBackend | None = None) -> CliResult:
    chosen = backend or ToyBackend(target_logits=WORDS)
    return run_cli("verify", "--target", pair[0], "--draft", pair[1], *arguments, backend=lambda: chosen)


def test_a_lossless_pair_is_identical_and_the_verdict_comes_first(
    pair: tuple[Path, Path], prompts: Path
) -> None:
    result = verify(pair, "--prompts", prompts, *SHORT)
    assert result.code == 0
    assert result.stderr == ""
    first, blank, *rest = result.stdout.splitlines()
    assert first == "IDENTICAL  drafted answers are plain decoding's, token for token"
    assert blank == ""
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert [line.split()[0] for line in rest if line.startswith("  ") and "identical" in line] == [
        "greedy",
        "same",
        "sampled",
        "rollback",
    ]
    assert "one is accused" in " ".join(result.stdout.split())


def test_the_built_in_prompts_are_asked_where_none_are_given(pair: tuple[Path, Path]) -> None:
    result = verify(pair, "-n", "4", "--samples", "0", "--ctx", "4096", "--json")
    assert result.code == 0, result
    assert result.document["greedy"]["prompts"] == 24


def test_a_wrong_judge_ends_with_exit_code_1_and_the_tokens_shown(
    pair: tuple[Path, Path], prompts: Path, judged_by: Callable[[Judge], None]
) -> None:
    judged_by(one_too_many)
    result = verify(pair, "--prompts", prompts, *SHORT)
    assert result.code == 1
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "DIFFERENT  not what plain decoding gives: greedy, same seed, sampled"
    assert max(map(len, lines)) <= 80
    text = " ".join(result.stdout.split())
    assert "different prompt 1 (yours), token " in text
    assert "--json lists them all" in text
    quiet = verify(pair, "--prompts", prompts, *SHORT, "-q")
    assert quiet.code == 1
    assert quiet.stdout.splitlines()[0] == lines[0]


def test_ties_are_no_failure(pair: tuple[Path, Path], prompts: Path) -> None:
    backend = SpoiledBackend(target_logits=WORDS, spoil=shaking(0.1))
    result = verify(pair, "--prompts", prompts, "-n", "80", "--samples", "0", backend=backend)
    assert result.code == 0
    assert result.stdout.startswith("TIE  drafted answers are plain decoding's, but for ")
    assert "sampled" not in result.stdout


def test_json_is_one_document(
    pair: tuple[Path, Path], prompts: Path, judged_by: Callable[[Judge], None]
) -> None:
    result = verify(pair, "--prompts", prompts, *SHORT, "--json", "--seed", "3", "--draft-max", "3")
    assert result.code == 0
    assert result.stderr == ""
    assert result.stdout.count("\n") == 1
    document = result.document
    assert (document["schema"], document["verdict"]) == (1, "identical")
    assert (document["drafter"], document["draft_max"], document["seed"]) == ("model", 3, 3)
    assert document["rounding"] == {"largest_change_of_distance": 0.0, "tie_threshold": 1e-4}
    greedy = document["greedy"]
    assert greedy["prompts"] == greedy["identical"] == 4
    assert 0 < greedy["accepted"] <= greedy["drafted"]
    assert greedy["differences"] == document["same_seed"]["differences"] == []
    assert document["same_seed"]["answers"] == 8
    assert document["sampled"]["rule"] == "reject"
    assert document["sampled"]["samples"] == 40
    assert document["sampled"]["false_alarm_rate"] == 0.001
    assert 0.001 < document["sampled"]["p_value"] <= 1
    assert [case["rejected"] for case in document["rollback"]["cases"]] == [1, 2, 3, 3] * 2
    assert document["target"]["path"] == str(pair[0])
    assert document["draft"]["path"] == str(pair[1])
    assert set(document["engine"]) == {"llama_cpp_python", "backend"}

    judged_by(one_too_many)
    wrong = verify(pair, "--prompts", prompts, *SHORT, "--json")
    assert wrong.code == 1
    difference = wrong.document["greedy"]["differences"][0]
    assert difference["verdict"] == "different"
    assert difference["logit_gap"] > 0
    assert difference["expected"]["id"] != difference["found"]["id"]
    assert wrong.document["verdict"] == wrong.document["sampled"]["verdict"] == "different"


def test_one_load_of_each_model_and_everything_closed(pair: tuple[Path, Path], prompts: Path) -> None:
    backend = ToyBackend(target_logits=WORDS)
    assert verify(pair, "--prompts", prompts, *SHORT, backend=backend).code == 0
    assert [model.path for model in backend.models] == list(pair)
    assert all(model.closed for model in backend.models)


@pytest.mark.parametrize(
    ("tuned", "on_trial"), [("auto", "model"), ("none", "ngram"), ("ngram", "ngram"), ("model", "model")]
)
def test_what_run_would_use_is_on_trial(
    pair: tuple[Path, Path], tmp_path: Path, tuned: str, on_trial: str
) -> None:
    key = pair_key(None, *map(str, pair))
    assert key is not None
    save_tuned(key, TunedSettings(drafter=tuned, threads=3))
    (tmp_path / "copies.txt").write_text("abcabcabcabc\nxyxyxyxy\n")
    arguments = ("--prompts", tmp_path / "copies.txt", "-n", "100", "--samples", "0")
    result = verify(pair, *arguments)
    assert result.code == 0
    assert "as tuned for this machine" in result.stderr
    assert json.loads(verify(pair, *arguments, "--json").stdout)["drafter"] == on_trial


def test_without_a_draft_the_copying_drafter_is_on_trial(pair: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "copies.txt").write_text("abcabcabcabc\nxyxyxyxy\n")
    result = run_cli(
        "verify",
        "--target",
        pair[0],
        "--prompts",
        tmp_path / "copies.txt",
        "-n",
        "100",
        "--samples",
        "20",
        "--json",
        backend=lambda: ToyBackend(target_logits=WORDS),
    )
    assert result.code == 0, result
    assert result.document["drafter"] == "ngram"
    assert result.document["draft"] is None
    assert result.document["sampled"]["rule"] == "match"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--samples", "5"], 2, ["--samples 5", "from 20 to", "or 0"]),
        (["-n", "1"], 2, ["--max-tokens 1", "from 2"]),
        (["--seed", "-1"], 2, ["--seed -1"]),
        (["--accept", "maybe"], 2, ["--accept maybe"]),
        (["--drafter", "oracle"], 2, ["oracle"]),
        (["--prompts", "nowhere.txt"], 1, ["nowhere.txt", "cannot be read"]),
    ],
)
def test_bad_input_is_one_line(
    pair: tuple[Path, Path], arguments: list[str], code: int, words: list[str]
) -> None:
    verify(pair, *arguments).refused(code, *words)


def test_plain_decoding_is_not_put_on_trial(pair: tuple[Path, Path]) -> None:
    result = run_cli("verify", "--target", pair[0], "--drafter", "none", backend=ToyBackend)
    result.refused(2, "nothing to prove")


def test_a_prompt_that_does_not_fit_is_one_line(pair: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("a" * 100)
    verify(pair, "--prompts", tmp_path / "long.txt", "--ctx", "64").refused(1, "context of 64", "--ctx")
