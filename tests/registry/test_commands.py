"""`specdec pull`, `list`, `remove`, `recommend`: the real program against an emulated Hub."""

from __future__ import annotations

import importlib.machinery
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from specdec_cli.cli.default_model import default_pair
from specdec_cli.cli.environment import Environment
from specdec_cli.errors import SpecdecError
from specdec_cli.registry.catalog import Catalog, load_catalog
from specdec_cli.registry.folders import cache_dir, config_dir, hub_cache_dir
from specdec_cli.registry.resolve import resolve_model, resolve_pair
from specdec_cli.ui.console import Printer
from tests.support.cli import CliResult, run_cli
from tests.support.hub import HubEmulator
from tests.support.tiny_models import bpe_vocabulary, write_tiny_model
from tests.support.toy import ToyBackend, table_logits

USER_FILE = """
[[pair]]
name = "mine"
target = "owner/big-GGUF:Q8_0"
draft = "owner/small-GGUF:Q8_0"
licence = "apache-2.0"
context = 512

[[pair]]
name = "misfit"
target = "owner/big-GGUF:Q8_0"
draft = "owner/other-GGUF:Q8_0"
"""

BIG = "480 kB"


@pytest.fixture(autouse=True)
def toy_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bandwidth measurement: it takes half a second and tells these tests nothing."""
    monkeypatch.setattr("specdec_cli.hardware.probe.memory_bandwidth", lambda *_a, **_k: 20e9)


@pytest.fixture
def filled(hub: HubEmulator, tmp_path: Path) -> HubEmulator:
    files = tmp_path / "files"
    files.mkdir()
    big = write_tiny_model(files / "big-Q8_0.gguf", layers=4, embedding=64)
    small = write_tiny_model(files / "small-Q8_0.gguf", seed=1)
    words = bpe_vocabulary()
    words["tokenizer.ggml.tokens"] = [*words["tokenizer.ggml.tokens"]]
    words["tokenizer.ggml.tokens"][40] = "another"
    other = write_tiny_model(files / "other-Q8_0.gguf", vocabulary=words)
    hub.add("owner/big-GGUF", {"big-Q8_0.gguf": big})
    hub.add("owner/small-GGUF", {"small-Q8_0.gguf": small})
    hub.add("owner/other-GGUF", {"other-Q8_0.gguf": other})
    config_dir().mkdir(parents=True, exist_ok=True)
    (config_dir() / "models.toml").write_text(USER_FILE)
    return hub


def toy() -> Any:
    return ToyBackend(target_logits=table_logits(7, end_bias=-9.0))


def specdec(*arguments: object, stdin: bytes = b"") -> CliResult:
    return run_cli(*arguments, backend=toy, stdin=stdin)


def weights_served(hub: HubEmulator) -> int:
    return sum(request.body_bytes for request in hub.asked("cdn", "GET") if "range" not in request.headers)


def test_a_pair_is_checked_fetched_listed_run_and_removed(filled: HubEmulator) -> None:
    result = specdec("pull", "mine")
    assert result.code == 0, result
    assert result.stdout == ""
    assert f"big-Q8_0.gguf · {BIG} · downloaded, size and SHA-256 verified" in result.stderr
    pair = resolve_pair("mine", load_catalog())
    assert pair.target.path is not None
    assert pair.draft.path is not None

    (listed,) = [pair for pair in specdec("list", "--json").document["pairs"] if pair["name"] == "mine"]
    assert (listed["state"], listed["fits"], listed["bytes_missing"]) == ("here", True, 0)
    assert listed["bytes_here"] == pair.target.path.stat().st_size + pair.draft.path.stat().st_size

    asked = len(filled.requests)
    answer = specdec("run", "--pair", "mine", "-n", "5", "--force", "hello")
    assert answer.code == 0, answer
    assert len(filled.requests) == asked  # a model that is here needs no Hub

    again = specdec("pull", "mine")
    assert f"big-Q8_0.gguf · {BIG} · was here" in again.stderr

    refused = specdec("remove", "mine")
    assert refused.code == 1
    assert "nobody is here to ask" in refused.stderr
    removed = specdec("remove", "mine", "--yes")
    assert removed.code == 0
    assert "remove owner/big-GGUF:Q8_0" in removed.stderr
    assert " kB freed" in removed.stderr
    assert not list(hub_cache_dir().glob("models--*"))


def test_an_incompatible_pair_is_refused_before_it_is_downloaded(filled: HubEmulator) -> None:
    result = specdec("pull", "misfit")
    assert result.code == 1
    assert "error: misfit: " in result.stderr
    assert "--force goes on" in result.stderr
    assert weights_served(filled) == 0
    forced = specdec("pull", "misfit", "--force")
    assert forced.code == 0, forced
    assert resolve_model("owner/other-GGUF:Q8_0", load_catalog()).path is not None


def test_models_by_reference_and_json(filled: HubEmulator, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    result = specdec("pull", "owner/big-GGUF", "owner/small-GGUF/small-Q8_0.gguf", "--dir", folder, "--json")
    assert result.code == 0, result
    assert result.stderr == ""
    first, second = result.document["files"]
    assert first["path"] == str(folder / "big-Q8_0.gguf")
    assert first["downloaded"] == first["bytes"] == (folder / "big-Q8_0.gguf").stat().st_size
    assert len(second["sha256"]) == 64
    assert not hub_cache_dir().exists()


def test_what_needs_no_download_says_so(filled: HubEmulator) -> None:
    result = specdec("pull", "demo")
    assert result.code == 0
    assert "smollm2-135m-f16:F16 needs no download" in result.stderr
    assert not filled.requests


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("gema3-12b", ("there is no pair called 'gema3-12b'", "hint: did you mean gemma3-12b?")),
        ("owner/nothing-GGUF", ("no repository owner/nothing-GGUF",)),
        ("owner/big-GGUF:Q2_K", ("no file quantized as Q2_K", "hint: it has Q8_0")),
        ("owner/big-GGUF/x.gguf", ("owner/big-GGUF has no file x.gguf", "hint: it has big-Q8_0.gguf")),
        ("owner/big-GGUF/../x.gguf", ("is no file name",)),
    ],
)
def test_names_that_mean_nothing(filled: HubEmulator, reference: str, words: tuple[str, ...]) -> None:
    specdec("pull", reference).refused(1, *words)


def test_gated_without_login_says_what_to_do(filled: HubEmulator, tmp_path: Path) -> None:
    model = write_tiny_model(tmp_path / "g.gguf")
    filled.add("google/gemma-3-12b-it-qat-GGUF", {"g-Q4_0.gguf": model}, gated=True)
    result = specdec("pull", "google/gemma-3-12b-it-qat-GGUF")
    result.refused(1, "is gated", "hf auth login", "bartowski/google_gemma-3-12b-it-GGUF")


def test_no_space_says_how_much_is_missing(filled: HubEmulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=10 * 2**20))
    result = specdec("pull", "mine")
    assert result.code == 1
    error, hint = result.stderr.splitlines()[-2:]
    assert error.startswith("error: not enough disk space: 0.6 MB to download, 10.5 MB free")
    assert error.endswith("57.2 MB are missing")
    assert "--dir" in hint
    assert weights_served(filled) == 0


@pytest.mark.parametrize("trouble", ["429", "offline", "dead"])
def test_a_cached_model_serves_when_the_hub_cannot_be_asked(filled: HubEmulator, trouble: str) -> None:
    assert specdec("pull", "owner/small-GGUF:Q8_0").code == 0
    arguments = ["--offline"] if trouble == "offline" else []
    if trouble == "429":
        filled.answer(429, {"Retry-After": "3600"}, times=-1)
    if trouble == "dead":
        filled.close()
    started = time.monotonic()
    result = specdec("pull", "owner/small-GGUF:Q8_0", *arguments)
    assert time.monotonic() - started < 15  # of which the check of a busy machine takes some
    assert result.code == 0
    assert "the copy of owner/small-GGUF:Q8_0 that is here is used" in result.stderr
    missing = specdec("pull", "owner/big-GGUF:Q8_0", *arguments)
    assert missing.code == 1
    assert missing.stderr.startswith("error: ")


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "specdec_cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_pull_goes_on(hub: HubEmulator, tmp_path: Path, how: int) -> None:
    model = write_tiny_model(
        tmp_path / "m-Q8_0.gguf", layers=40, embedding=128, feed_forward=512, sparse=True
    )
    size = model.stat().st_size
    assert size > 20e6
    hub.add("owner/repo", {"m-Q8_0.gguf": model})
    hub.cdn_behaviour.bytes_per_second = 8e6
    with start("pull", "owner/repo:Q8_0") as process:
        deadline = time.monotonic() + 60
        while weights_served(hub) < 4e6:
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(how)
        output = process.communicate(timeout=30)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "interrupted; what was received is kept" in output[1]
    assert "Traceback" not in output[1]
    assert resolve_model("owner/repo:Q8_0", load_catalog()).path is None
    hub.cdn_behaviour.bytes_per_second = None
    result = specdec("pull", "owner/repo:Q8_0")
    assert result.code == 0
    assert "MB of it are here" in result.stderr
    path = resolve_model("owner/repo:Q8_0", load_catalog()).path
    assert path is not None
    assert path.read_bytes() == model.read_bytes()
    ranges = [request.headers["range"] for request in hub.asked("cdn", "GET") if "range" in request.headers]
    assert ranges[-1].endswith("-")
    assert int(ranges[-1].removeprefix("bytes=").removesuffix("-")) > 2e6


def test_list_shows_every_pair_and_counts_other_models(filled: HubEmulator) -> None:
    specdec("pull", "owner/other-GGUF")
    text = specdec("list").stdout
    assert "mine" in text
    assert "demo" in text
    assert str(config_dir() / "models.toml") in text
    document = specdec("list", "--json").document
    assert [pair["name"] for pair in document["pairs"]][:2] == ["mine", "misfit"]
    (model,) = [model for model in document["models"] if model["place"] == "hub"]
    assert (model["name"], model["fetched_by_specdec"], model["pairs"]) == (
        "owner/other-GGUF:Q8_0",
        True,
        ["misfit"],
    )
    assert "owner/other-GGUF:Q8_0" in specdec("list", "--all").stdout


def test_list_asks_the_native_library_once(filled: HubEmulator) -> None:
    asked = []

    def backend() -> Any:
        asked.append(1)
        return toy()

    first = run_cli("list", "--json", backend=backend)
    second = run_cli("list", "--json", backend=backend)
    assert first.document == second.document
    assert len(asked) == 1
    (cache_dir() / "machine.json").write_text("{}")
    assert run_cli("list", "--json", backend=backend).document == first.document
    assert len(asked) == 2


def test_list_asks_a_newly_installed_native_library(
    filled: HubEmulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same version may have been built for another backend."""
    installed = tmp_path / "installed" / "llama_cpp"
    (installed / "lib").mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name: importlib.machinery.ModuleSpec(name, None, origin=str(installed / "__init__.py")),
    )
    asked = []

    def backend() -> Any:
        asked.append(1)
        return toy()

    run_cli("list", backend=backend)
    run_cli("list", backend=backend)
    assert len(asked) == 1
    os.utime(installed / "lib", ns=(1, 1))
    run_cli("list", backend=backend)
    assert len(asked) == 2


def test_remove_asks_a_person(filled: HubEmulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "specdec_cli.cli.environment.Environment.stdin_is_terminal", property(lambda _self: True)
    )
    specdec("pull", "mine")
    assert specdec("remove", "mine", stdin=b"n\n").code == 1
    assert specdec("remove", "mine", stdin=b"").code == 1
    assert resolve_pair("mine", load_catalog()).target.path is not None
    assert specdec("remove", "mine", stdin=b"y\n").code == 0
    specdec("remove", "mine", stdin=b"y\n").refused(1, "nothing of mine is here")
    specdec("remove", "mime").refused(1, "mime is not here", "did you mean mine?")


@pytest.mark.parametrize(("machine", "size"), [("nvidia-24gb", "32b"), ("cpu-32gb", "7b")])
def test_recommendations_fit_their_machines(machine: str, size: str) -> None:
    document = specdec("recommend", "--machine", machine, "--json").document
    first, *others = document["recommendations"]
    assert first["fits"] is True
    assert size in first["pair"]
    assert first["memory"]["required"] <= first["memory"]["usable"]
    assert first["why"].count(";") == 1
    order = [{True: 2, None: 1, False: 0}[pair["fits"]] for pair in (first, *others)]
    assert order == sorted(order, reverse=True)
    assert {pair["pair"] for pair in (first, *others)} == load_catalog().pairs.keys()


def test_recommendations_by_purpose_and_context() -> None:
    code = specdec("recommend", "--machine", "nvidia-12gb", "--use", "code").stdout
    assert code.startswith("For 12 GB NVIDIA card: qwen2.5-coder-14b\n")
    assert "made for code; the largest target that fits" in code
    assert "specdec pull qwen2.5-coder-14b (9.5 GB)" in code
    long = specdec("recommend", "--machine", "nvidia-12gb", "--json", "--ctx", "30000")
    best = long.document["recommendations"][0]
    assert (best["context"], best["fits"]) == (30000, True)
    assert best["target"]["parameters"] < 14e9
    too_long = specdec("recommend", "--machine", "nvidia-12gb", "--ctx", "2000000")
    assert "No pair fits" in too_long.stdout
    assert "trained on 131072" in too_long.stdout


def test_recommend_refuses_nonsense() -> None:
    specdec("recommend", "--use", "poetry").refused(2, "--use poetry", "code, chat, any")
    specdec("recommend", "--ctx", "0").refused(2, "--ctx 0")
    specdec("recommend", "--machine", "/nowhere.toml").refused(1, "/nowhere.toml")


def test_documents_are_json_and_nothing_else(filled: HubEmulator) -> None:
    for arguments in (("list", "--json"), ("recommend", "--json"), ("pull", "mine", "--json")):
        result = specdec(*arguments)
        assert result.code == 0
        assert result.stdout.count("\n") == 1
        assert json.loads(result.stdout)["schema"] == 1


def default(stdin: bytes = b"", *, terminal: bool) -> tuple[str, str]:
    """(The pair that is taken when none is named, what was said)."""
    stderr = io.StringIO()
    keyboard = io.BytesIO(stdin)
    keyboard.isatty = lambda: terminal  # type: ignore[method-assign]
    environment = Environment(stdout=io.StringIO(), stderr=stderr, stdin=keyboard, open_backend=toy)
    return default_pair(environment, Printer(stderr)), stderr.getvalue()


def only_these(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Leave only these pairs in the catalog, as fitting models of known size."""
    catalog = load_catalog()
    pairs = {name: catalog.pairs[name] for name in names}
    smaller = Catalog(pairs=pairs, models=catalog.models)
    monkeypatch.setattr("specdec_cli.cli.default_model.load_catalog", lambda: smaller)


def test_without_a_name_a_pair_that_is_here_is_used(
    filled: HubEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    specdec("pull", "mine")
    only_these(monkeypatch, "mine", "demo", "smollm2-1.7b")
    assert default(terminal=False) == ("mine", "no model named: using mine, which is here\n")


def test_without_a_model_the_recommended_one_is_offered(
    filled: HubEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_these(monkeypatch, "demo", "smollm2-1.7b")
    with pytest.raises(SpecdecError, match="none of the known pairs is on this machine") as caught:
        default(terminal=False)
    assert (
        caught.value.hint == "specdec pull smollm2-1.7b:Q8_0 (2.0 GB) fits it; --pair demo needs no download"
    )
    name, said = default(b"n\n", terminal=True)
    assert name == "demo"
    assert "Download it now (2.0 GB)? [y/N]" in said
    with pytest.raises(SpecdecError, match="no repository bartowski/SmolLM2"):
        default(b"y\n", terminal=True)  # wanted: it is asked of the (emulated) Hub
    only_these(monkeypatch, "demo", "llama3.3-70b")
    assert default(terminal=False) == ("demo", "no model named: using demo, a very small one\n")
