"""`check` shows what `run`, `chat` and `bench` have measured; the real program over a toy model."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import time
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specdec_cli.cli.environment import Environment
from specdec_cli.cli.main import main
from specdec_cli.cli.speed_records import AnswerGains
from specdec_cli.draft.ledger import PolicySummary
from specdec_cli.draft.plain import PlainDrafter
from specdec_cli.draft.values import Draft, Outcome
from specdec_cli.engine.statistics import Statistics
from specdec_cli.protocols import BackendDevice
from tests.support.chats import chat
from tests.support.cli import CliResult, run_cli
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import ToyBackend, table_logits

WORDS = table_logits(7, end_bias=-9.0)
FLAT: dict[str, object] = {"costs": {"decode_seconds": 1e-2, "token_seconds": 0.0}}
QUICK: dict[str, object] = {"costs": {"decode_seconds": 1e-4, "token_seconds": 0.0}}
BENCH = ("--tasks", "chat,json", "--runs", "2", "-n", "16")


def worth_drafting() -> ToyBackend:
    """Verifying more rows costs nothing here, so `auto` drafts."""
    return ToyBackend(target_logits=WORDS, target_options=dict(FLAT), draft_options=dict(QUICK))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return (
        write_tiny_model(tmp_path / "target.gguf", layers=8, feed_forward=4096),
        write_tiny_model(tmp_path / "draft.gguf", layers=1, seed=1),
    )


def specdec(command: str, *arguments: object) -> CliResult:
    result = run_cli(command, *arguments, backend=worth_drafting)
    assert result.code == 0, result
    return result


def prediction(pair: tuple[Path, Path], *arguments: object) -> dict[str, Any]:
    """What `check` says of the pair's speed."""
    found: dict[str, Any] = specdec(
        "check", "--target", pair[0], "--draft", pair[1], "--json", *arguments
    ).document["prediction"]
    return found


def run_plain(pair: tuple[Path, Path], *arguments: object) -> float:
    """An answer without drafts; its tokens per second."""
    arguments = ("hello", "-n", "40", *arguments, "--drafter", "none", "--json")
    generation = specdec("run", "--target", pair[0], *arguments).document["generation"]
    speed: float = generation["tokens_per_second"]
    return speed


def run_drafted(pair: tuple[Path, Path], *arguments: object) -> dict[str, Any]:
    document = specdec(
        "run", "--target", pair[0], "--draft", pair[1], "hello", "-n", "60", "--json", *arguments
    ).document
    assert document["speculation"]["drafted"] > 0
    return document


def recorded_runs() -> list[dict[str, Any]]:
    """Those of the only entry there is."""
    file = Path(os.environ["SPECDEC_CACHE"]) / "speeds.json"
    (entry,) = json.loads(file.read_text(encoding="utf-8"))["speeds"]
    runs: list[dict[str, Any]] = entry["runs"]
    return runs


def is_estimated(figures: Mapping[str, Any]) -> bool:
    assert figures["measured"] is figures["basis"].startswith(("measured", "plain measured"))
    return not figures["measured"] and not figures["speedup_measured"]


def test_before_anything_ran_it_is_estimated(pair: tuple[Path, Path]) -> None:
    assert is_estimated(prediction(pair))


def test_a_plain_run_makes_the_plain_figure_measured(pair: tuple[Path, Path]) -> None:
    before = prediction(pair)
    speed = run_plain(pair)
    after = prediction(pair)
    assert after["plain_tps"] == pytest.approx(speed)
    assert (after["measured"], after["speedup_measured"]) == (True, False)
    assert after["speedup"] == before["speedup"]
    assert after["speculative_tps"]["high"] == pytest.approx(speed * before["speedup"]["high"])
    assert after["basis"].startswith("plain measured here in 1 run, on 20")
    assert after["basis"].endswith(f"; speed-up {before['basis']}")
    alone = specdec("check", "--target", pair[0], "--json").document["prediction"]
    assert (alone["plain_tps"], alone["measured"]) == (after["plain_tps"], True)
    assert alone["speculative_tps"] is None


def test_runs_with_auto_make_the_range_measured(pair: tuple[Path, Path]) -> None:
    gains, speeds = [], []
    for _ in range(2):
        document = run_drafted(pair)
        gains.append(document["speculation"]["gain"])
        speeds.append(document["generation"]["tokens_per_second"])
    assert min(gains) > 1.1
    figures = prediction(pair)
    assert (figures["measured"], figures["speedup_measured"]) == (True, True)
    assert figures["speedup"] == {
        "low": pytest.approx(min(gains), rel=1e-3),
        "high": pytest.approx(max(gains), rel=1e-3),
    }
    assert figures["speculative_tps"] == {
        "low": pytest.approx(min(speeds), rel=1e-3),
        "high": pytest.approx(max(speeds), rel=1e-3),
    }
    assert figures["basis"].startswith("measured here in 2 runs, the last on 20")
    text = " ".join(specdec("check", "--target", pair[0], "--draft", pair[1]).stdout.split())
    assert f"times plain), measured {figures['basis']}" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("--kv-type", "f32"),
        ("--gpu-layers", "0"),
        ("--flash-attn", "off"),
        ("--machine", "cpu-32gb"),
    ],
    ids=" ".join,
)
def test_other_settings_and_other_machines_are_estimated(
    pair: tuple[Path, Path], arguments: tuple[str, ...]
) -> None:
    run_plain(pair)
    run_drafted(pair)
    assert not is_estimated(prediction(pair))
    assert is_estimated(prediction(pair, *arguments))


def test_of_another_draft_setting_the_target_is_known_and_the_gain_is_not(pair: tuple[Path, Path]) -> None:
    run_drafted(pair)
    for arguments in (("--draft-kv-type", "bf16"), ("--draft-gpu-layers", "0")):
        figures = prediction(pair, *arguments)
        assert (figures["measured"], figures["speedup_measured"]) == (True, False)


def test_what_a_run_was_given_is_what_is_known_of(pair: tuple[Path, Path]) -> None:
    run_plain(pair, "--kv-type", "f32", "--ctx", "128", "--threads", "1", "--temp", "1", "--seed", "3")
    assert is_estimated(prediction(pair))
    assert prediction(pair, "--kv-type", "f32")["measured"]


def test_a_file_that_changed_is_another_one(pair: tuple[Path, Path]) -> None:
    run_plain(pair)
    os.utime(pair[0], (1, 1))
    assert is_estimated(prediction(pair))


def test_a_machine_with_another_device_is_another_one(pair: tuple[Path, Path]) -> None:
    class WithCard(ToyBackend):
        def devices(self) -> tuple[BackendDevice, ...]:
            return (*super().devices(), BackendDevice("CUDA0", "toy card", "gpu", 8 << 30, 8 << 30))

    run_plain(pair)
    result = run_cli("check", "--target", pair[0], "--json", backend=WithCard)
    assert result.document["prediction"] is None  # a card of unknown rates, and what the CPU did says nothing


def test_short_answers_and_fixed_drafters_do_not_count(pair: tuple[Path, Path]) -> None:
    specdec("run", "--target", pair[0], "--drafter", "none", "hello", "-n", "31")
    run_drafted(pair, "--drafter", "model")
    assert is_estimated(prediction(pair))
    assert [(entry["drafter"], entry["plain_tps"]) for entry in recorded_runs()] == [("model", None)]


def test_an_answer_that_was_interrupted_does_not_count(pair: tuple[Path, Path]) -> None:
    def stopped(tokens: Sequence[int]) -> np.ndarray:
        if len(tokens) == 45:
            signal.raise_signal(signal.SIGINT)
        return WORDS(tokens)

    result = run_cli(
        *("run", "--target", pair[0], "--drafter", "none", "hello", "-n", "60"),
        backend=lambda: ToyBackend(target_logits=stopped),
    )
    assert result.code == 130
    assert result.stderr.startswith(("40 tokens", "41 tokens"))
    assert is_estimated(prediction(pair))


def test_a_terminal_that_is_held_up_does_not_make_the_model_slow(pair: tuple[Path, Path]) -> None:
    class Slow(io.StringIO):
        def write(self, text: str) -> int:
            time.sleep(0.01)
            return super().write(text)

    environment = Environment(
        stdout=Slow(), stderr=io.StringIO(), stdin=io.BytesIO(), variables={}, open_backend=worth_drafting
    )
    arguments = ["run", "--target", str(pair[0]), "--drafter", "none", "hello", "-n", "40"]
    assert main(arguments, environment) == 0
    (entry,) = recorded_runs()
    shown = re.search(r"([\d.]+) tok/s", environment.stderr.getvalue())  # type: ignore[attr-defined]
    assert shown is not None
    seconds, shown_seconds = 40 / entry["tokens_per_second"], 40 / float(shown[1])
    assert shown_seconds - seconds > 0.25


def test_a_file_that_cannot_be_understood_or_written_costs_no_answer(pair: tuple[Path, Path]) -> None:
    run_plain(pair)
    (Path(os.environ["SPECDEC_CACHE"]) / "speeds.json").write_text("no JSON", encoding="utf-8")
    assert is_estimated(prediction(pair))
    run_plain(pair)
    assert prediction(pair)["measured"]
    (Path(os.environ["SPECDEC_CACHE"]) / "speeds.json").unlink()
    (Path(os.environ["SPECDEC_CACHE"]) / "speeds.json").mkdir()
    run_plain(pair)
    assert is_estimated(prediction(pair))


def test_each_answer_of_a_chat_counts(pair: tuple[Path, Path]) -> None:
    backend = worth_drafting()
    for lines in (("hello",), ("one", "/retry", "two")):
        result = chat(pair, *lines, options=("-n", "40", "--flash-attn", "on"), backend=backend)
        assert result.code == 0, result
    figures = prediction(pair, "--flash-attn", "on")
    assert figures["basis"].startswith("measured here in 4 runs, the last on ")
    assert figures["speedup"]["low"] > 1.0


def test_a_bench_is_known(pair: tuple[Path, Path], tmp_path: Path) -> None:
    run_drafted(pair)
    file = tmp_path / "bench.json"
    models = ("--target", pair[0], "--draft", pair[1])
    specdec("bench", *models, *BENCH, "--drafters", "model:2,auto", "--json", file)
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    speedups = [cell["speedup"]["value"] for cell in cells if cell["variant"] == "auto"]
    figures = prediction(pair)
    assert figures["speedup"] == {"low": pytest.approx(min(speedups)), "high": pytest.approx(max(speedups))}
    assert figures["basis"] == f"measured here: bench of {date.today()}, 2 tasks × 2 runs"
    plain = [cell["tokens_per_second"] for cell in cells if cell["variant"] == "plain"]
    assert figures["plain_tps"] == pytest.approx(sum(plain) / 2)


def test_a_bench_without_auto_tells_of_plain_decoding_alone(pair: tuple[Path, Path]) -> None:
    specdec("bench", "--target", pair[0], "--draft", pair[1], *BENCH, "--drafters", "model:2")
    figures = prediction(pair)
    assert (figures["measured"], figures["speedup_measured"]) == (True, False)
    assert "2 tasks × 2 runs; speed-up estimated from " in figures["basis"]


def test_a_policys_gain_is_told_for_single_answers() -> None:
    """It states the gain over everything it did: 40 tokens at 2, then 40 at 1 make 1.33."""
    policy, gains = PlainDrafter(), AnswerGains()

    def answer(gain: float, rounds: int, of: PlainDrafter = policy) -> float | None:
        statistics = Statistics()
        for _ in range(20):
            statistics.add(Outcome(Draft.chain([], source=""), (), (1, 2)))
        return gains.of(of, PolicySummary("on", "", {"model": rounds}, 0, gain), statistics)

    assert answer(2.0, 20) == pytest.approx(2.0)
    assert answer(80 / 60, 40) == pytest.approx(1.0)
    assert answer(1.5, 61) is None  # it was at work unheard
    assert answer(3.0, 20, PlainDrafter()) == pytest.approx(3.0)
    assert gains.of(policy, None, Statistics()) is None
