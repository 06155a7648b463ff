"""A model that is here is used without asking the Hub, whatever state the Hub is in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from specdec_cli.registry.catalog import Catalog, load_catalog
from specdec_cli.registry.folders import config_dir
from tests.support.cli import CliResult, run_cli
from tests.support.hub import HubEmulator
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import ToyBackend, table_logits

USER_FILE = """
[[pair]]
name = "mine"
target = "owner/big-GGUF:Q8_0"
draft = "owner/small-GGUF:Q8_0"
"""
TROUBLES = ("online", "--offline", "HF_HUB_OFFLINE", "429", "429 for a while", "503", "refused", "silent")
PROMPT = ("-n", "5", "hello")


def toy() -> Any:
    return ToyBackend(target_logits=table_logits(7, end_bias=-9.0))


def specdec(*arguments: object, stdin: bytes = b"") -> CliResult:
    return run_cli(*arguments, backend=toy, stdin=stdin)


@pytest.fixture
def here(hub: HubEmulator, tmp_path: Path) -> HubEmulator:
    """A Hub whose two models are here; what was asked so far is forgotten."""
    for name, layers in (("big", 4), ("small", 2)):
        model = write_tiny_model(tmp_path / f"{name}-Q8_0.gguf", layers=layers)
        hub.add(f"owner/{name}-GGUF", {model.name: model})
    config_dir().mkdir(parents=True, exist_ok=True)
    (config_dir() / "models.toml").write_text(USER_FILE)
    assert specdec("pull", "mine", "--force").code == 0
    hub.requests.clear()
    return hub


def befall(hub: HubEmulator, trouble: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Put the Hub into this state; returns the options that belong to it."""
    if trouble == "HF_HUB_OFFLINE":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    elif trouble == "429":
        hub.answer(429, times=-1)
    elif trouble == "429 for a while":
        hub.answer(429, {"Retry-After": "30"}, times=-1)
    elif trouble == "503":
        hub.answer(503, times=-1)
    elif trouble == "refused":
        hub.close()
    elif trouble == "silent":
        hub.silent = True
    return [trouble] if trouble == "--offline" else []


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_model_that_is_here_runs_and_nothing_is_asked(
    here: HubEmulator, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = befall(here, trouble, monkeypatch)
    answers = set()
    for reference in ("owner/big-GGUF:Q8_0", "owner/big-GGUF", "owner/big-GGUF/big-Q8_0.gguf"):
        models = ("--target", reference, "--draft", "owner/small-GGUF", "--drafter", "model")
        result = specdec("run", *models, *options, *PROMPT)
        assert result.code == 0, result
        answers.add(result.stdout)
    by_pair = specdec("run", "--pair", "mine", *options, *PROMPT)
    assert by_pair.code == 0, by_pair
    assert answers == {by_pair.stdout}
    chat = specdec("chat", "--pair", "mine", *options, "-n", "5", "--plain", stdin=b"hello\n")
    assert chat.code == 0, chat
    assert not here.requests


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_model_that_is_not_here_is_an_error_and_nothing_is_asked(
    here: HubEmulator, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = befall(here, trouble, monkeypatch)
    result = specdec("run", "--target", "owner/other-GGUF:Q8_0", *options, *PROMPT)
    result.refused(1, "is not on this machine yet", "hint: specdec pull owner/other-GGUF:Q8_0")
    assert not here.requests


def test_a_run_of_a_model_that_is_here_loads_no_client_of_the_hub(here: HubEmulator) -> None:
    here.silent = True
    arguments = ["run", "--pair", "mine", "--force", *PROMPT]
    code = f"from specdec_cli.cli.main import main; code = main({arguments!r})"
    report = "; import sys; print('\\n', code, 'huggingface_hub' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code + report],
        capture_output=True,
        text=True,
        timeout=60,  # a hang is the failure
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        check=True,
        encoding="utf-8",
    )
    assert done.stdout.split()[-2:] == ["0", "False"], done
    assert not here.requests


def test_a_hub_that_does_not_answer_is_asked_once_for_all_models(here: HubEmulator) -> None:
    here.answer(429, {"Retry-After": "3600"}, times=-1)
    result = specdec("pull", "mine", "owner/big-GGUF")
    assert result.code == 0, result
    assert result.stderr.count("that is here is used") == 3
    assert len(here.requests) == 1


def test_offline_is_given_as_the_reason(here: HubEmulator) -> None:
    result = specdec("pull", "owner/small-GGUF:Q8_0", "--offline")
    assert result.stderr == "offline: the copy of owner/small-GGUF:Q8_0 that is here is used\n"


@pytest.mark.parametrize("command", ["run", "chat"])
@pytest.mark.parametrize("trouble", ["online", "--offline", "HF_HUB_OFFLINE"])
def test_offline_offers_no_download(
    here: HubEmulator, command: str, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = load_catalog()
    pairs = {name: known.pairs[name] for name in ("mine", "smollm2-1.7b")}
    monkeypatch.setattr("specdec_cli.hardware.probe.memory_bandwidth", lambda *_a, **_k: 20e9)
    monkeypatch.setattr("specdec_cli.cli.default_model.load_catalog", lambda: Catalog(pairs, known.models))
    monkeypatch.setattr("specdec_cli.cli.default_model.DEMO", "mine")
    monkeypatch.setattr(
        "specdec_cli.cli.environment.Environment.stdin_is_terminal", property(lambda _self: True)
    )
    options = befall(here, trouble, monkeypatch)
    prompt = PROMPT if command == "run" else ()
    result = specdec(command, *options, "--force", *prompt, stdin=b"n\n")
    assert result.code == 0, result
    assert ("Download it now" in result.stderr) == (trouble == "online")
    assert "using mine, a very small one" in result.stderr
    assert not here.requests
