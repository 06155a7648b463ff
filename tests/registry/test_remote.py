"""Remote headers: only what the header needs, whatever the server does; cached by etag."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from specdec_cli.errors import SpecdecError
from specdec_cli.gguf.reader import read_header
from specdec_cli.registry.hub import HubClient
from specdec_cli.registry.remote import RemoteHeader, read_remote_header
from specdec_cli.registry.sources import HubSource
from tests.support.gguf_files import TensorSpec, split_into_shards
from tests.support.hub import GOOD_TOKEN, HTML, HubEmulator
from tests.support.tiny_models import architecture_metadata, bpe_vocabulary, llama_tensors, write_tiny_model

SOURCE = HubSource("owner/repo", quant="Q8_0")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model with a header of some 1.3 MB and 60 MB of (sparse) weights."""
    words = bpe_vocabulary()
    padding = {"test.padding": "x" * 1_300_000}
    return write_tiny_model(
        tmp_path / "m-Q8_0.gguf", vocabulary=words | padding, layers=60, embedding=256, sparse=True
    )


def read(source: HubSource = SOURCE) -> RemoteHeader:
    return read_remote_header(source, HubClient(), Path(os.environ["SPECDEC_CACHE"]))


def test_only_the_header_is_fetched_and_kept(hub: HubEmulator, model: Path) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": model, "README.md": b"# hi"})
    first = read()
    local = read_header(model)
    assert first.header.tensors == local.tensors
    assert first.header.vocabulary is not None
    assert local.vocabulary is not None
    assert list(first.header.vocabulary.tokens) == list(local.vocabulary.tokens)
    assert first.header.file_bytes == model.stat().st_size > 40e6
    assert local.header_bytes <= hub.bytes_served() == first.bytes_fetched <= local.header_bytes + 2**20
    again = read()
    assert again.bytes_fetched == 0
    assert again.header.tensors == local.tensors
    assert hub.bytes_served() == first.bytes_fetched


def test_a_changed_file_is_read_again(hub: HubEmulator, model: Path, tmp_path: Path) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": model})
    read()
    hub.add("owner/repo", {"m-Q8_0.gguf": write_tiny_model(tmp_path / "other.gguf", layers=3)})
    changed = read()
    assert changed.header.block_count == 3
    assert changed.bytes_fetched > 0


def test_a_server_that_ignores_ranges_is_left_when_the_header_is_read(hub: HubEmulator, model: Path) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": model})
    hub.cdn_behaviour.ignore_ranges = True
    result = read()
    assert result.header.tensors == read_header(model).tensors
    assert result.bytes_fetched <= result.header.header_bytes + 2**20
    assert len(hub.asked("cdn")) == 1


def test_broken_connections_are_taken_up_where_they_broke(hub: HubEmulator, model: Path) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": model})
    hub.cdn_behaviour.cuts = [100_000, 5]
    assert read().header.tensors == read_header(model).tensors
    hub.add("owner/repo", {"n-Q4_0.gguf": model.read_bytes()[:-1]})
    hub.cdn_behaviour.cuts = [0] * 100
    with pytest.raises(
        SpecdecError, match=r"connection broke while reading the header of n-Q4_0\.gguf"
    ) as caught:
        read(HubSource("owner/repo", quant="Q4_0"))
    assert caught.value.code == "file.cut"


def test_a_broken_answer_without_ranges_is_asked_for_again(hub: HubEmulator, model: Path) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": model})
    hub.cdn_behaviour.ignore_ranges = True
    hub.cdn_behaviour.cuts = [700_000]
    assert read().header.tensors == read_header(model).tensors
    assert len(hub.asked("cdn")) == 2


def test_a_slow_server_is_waited_for(hub: HubEmulator, tmp_path: Path) -> None:
    small = write_tiny_model(tmp_path / "m-Q8_0.gguf")
    hub.add("owner/repo", {"m-Q8_0.gguf": small})
    hub.cdn_behaviour.bytes_per_second = 400_000
    assert read().header.block_count == 2


def test_a_server_that_stalls_is_given_up(
    hub: HubEmulator, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": model})
    hub.cdn_behaviour.bytes_per_second = 10_000
    monkeypatch.setenv("HF_HUB_DOWNLOAD_TIMEOUT", "0.1")
    started = time.monotonic()
    with pytest.raises(SpecdecError, match="connection broke"):
        read()
    assert time.monotonic() - started < 10


def test_without_an_answer_the_last_known_header_serves(hub: HubEmulator, model: Path) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": model})
    read()
    hub.answer(429, {"Retry-After": "3600"})
    assert "429" in (read().stale_reason or "")
    hub.answer(500)
    assert "answered 500" in (read().stale_reason or "")
    offline = read_remote_header(SOURCE, HubClient(offline=True), Path(os.environ["SPECDEC_CACHE"]))
    assert offline.header.block_count == 60
    hub.close()
    assert "cannot reach the Hub" in (read().stale_reason or "")


def test_shards_are_joined(hub: HubEmulator, tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"layers": 4, "embedding": 32, "heads": 4, "heads_kv": 2, "feed_forward": 64}
    words = bpe_vocabulary()
    tensors: list[TensorSpec] = llama_tensors(len(words["tokenizer.ggml.tokens"]), ggml_type=0, **sizes)
    paths = split_into_shards(tmp_path / "m-Q8_0", architecture_metadata(**sizes) | words, tensors, 3)
    hub.add("owner/repo", {path.name: path for path in paths})
    result = read()
    assert len(result.header.tensors) == len(tensors)
    assert result.model.bytes == sum(path.stat().st_size for path in paths)
    assert result.header.file_bytes == result.model.bytes
    hub.add("owner/lost", {path.name: path for path in paths[:2]})
    with pytest.raises(SpecdecError, match=r"owner/lost has no file m-Q8_0-00003-of-00003\.gguf"):
        read(HubSource("owner/lost", quant="Q8_0"))


def refused(source: HubSource = SOURCE) -> SpecdecError:
    with pytest.raises(SpecdecError) as caught:
        read(source)
    assert "\n" not in caught.value.message + (caught.value.hint or "")
    return caught.value


def test_gated_repositories_say_what_to_do(
    hub: HubEmulator, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": model}, gated=True)
    error = refused()
    assert error.code == "file.gated"
    assert (
        error.message == f"owner/repo is gated: its licence has to be accepted at {hub.endpoint}/owner/repo"
    )
    assert error.hint == "accept it there, then log in: hf auth login (or set HF_TOKEN)"
    monkeypatch.setenv("HF_TOKEN", "hf_somebodyElse")
    assert "this login has not been let in" in refused().message
    monkeypatch.setenv("HF_TOKEN", GOOD_TOKEN)
    assert read().header.block_count == 60
    assert all("authorization" not in request.headers for request in hub.asked("cdn"))
    client = HubClient(suggest_ungated=lambda repo: f"free/{repo.split('/')[1]}")
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(SpecdecError) as caught:
        client.locate(SOURCE)
    assert (caught.value.hint or "").endswith("the same model without that: free/repo")


def test_what_is_not_there_is_named_with_what_is(hub: HubEmulator, model: Path) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": model, "m-Q4_0.gguf": model, "mmproj-m-F16.gguf": b"GGUF"})
    hub.add("owner/text", {"README.md": b"hi"})
    assert refused(HubSource("owner/nothing")).code == "file.no_repository"
    error = refused(HubSource("owner/repo", quant="Q6_K"))
    assert (error.message, error.hint) == ("owner/repo has no file quantized as Q6_K", "it has Q4_0, Q8_0")
    error = refused(HubSource("owner/repo", file="m-Q6_K.gguf"))
    assert (error.message, error.hint) == (
        "owner/repo has no file m-Q6_K.gguf",
        "it has m-Q4_0.gguf, m-Q8_0.gguf",
    )
    assert refused(HubSource("owner/text")).message == "owner/text holds no GGUF model"
    assert refused(HubSource("owner/repo", file="a/../../m-Q8_0.gguf")).code == "file.not_in_repository"


def test_answers_that_are_not_the_hubs(
    hub: HubEmulator, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": model})
    hub.answer(200, {"Content-Type": "text/html"}, HTML)
    assert "does not answer as the Hub does" in refused().message
    hub.answer(200, {"Content-Type": "text/html"}, HTML, method="HEAD")
    assert "does not answer as the Hub does" in refused(HubSource("owner/repo", file="m-Q8_0.gguf")).message
    hub.answer(200, {"X-Repo-Commit": "../x", "ETag": '"../../x"'}, b"GGUF", method="HEAD")
    assert "does not answer as the Hub does" in refused(HubSource("owner/repo", file="m-Q8_0.gguf")).message
    hub.cdn_behaviour.html = True
    assert "not a GGUF file" in refused().message
    hub.cdn_behaviour.html = False
    hub.answer(401, {"X-Error-Message": "Invalid credentials in Authorization header"}, times=1)
    assert refused().code == "file.refused"
    hub.answer(500)
    assert refused(HubSource("owner/repo")).code == "file.hub_answer"
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert refused().code == "file.hub_unreachable"
    monkeypatch.setenv("HF_ENDPOINT", "not a url")
    assert refused().code == "file.hub_unreachable"


def test_short_limits_are_waited_for_and_passing_trouble_is_tried_again(
    hub: HubEmulator, model: Path
) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": model})
    notes: list[str] = []
    hub.answer(429, {"Retry-After": "1"})
    hub.answer(429, {"Retry-After": "0"}, path_part="signed")
    hub.answer(503, {}, path_part="resolve")
    client = HubClient(note=notes.append)
    assert read_remote_header(SOURCE, client, Path(os.environ["SPECDEC_CACHE"])).header.block_count == 60
    assert notes == [
        "the Hub limits requests; waiting 1 s",
        "the Hub answered 503; asking again in 1 s",
        "the Hub limits requests; waiting 0 s",
    ]


def test_offline_asks_nothing(hub: HubEmulator, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": model})
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert refused().code == "file.offline"
    assert not hub.requests
