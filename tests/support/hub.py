"""A Hub to test against: real HTTP on 127.0.0.1, speaking what the Hub's own client really asks.

    def test_mine(hub: HubEmulator) -> None:
        hub.add("owner/repo", {"m-Q8_0.gguf": b"GGUF..."})
        ...                                      # HF_ENDPOINT and both caches point here already

The API and `resolve` live on one port, the "CDN" that large files are redirected to on another, so that a test
sees what crosses from one to the other. `hub.answer(…)` puts the next answers in a queue, with `hub.silent` none
comes at all; the fields of `hub.cdn_behaviour` say how file bodies go wrong; `hub.requests` is what was asked. No
answer offers Xet storage, so that the client takes its plain HTTP path.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.hub_server import start_server
from tests.support.hub_values import (
    GOOD_TOKEN,
    HTML,
    Answer,
    Behaviour,
    HubFile,
    Repository,
    Request,
)

__all__ = ["GOOD_TOKEN", "HTML", "Behaviour", "HubEmulator", "hub"]


class HubEmulator:
    """Repositories, faults, and the two servers. Made by the `hub` fixture."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repositories: dict[str, Repository] = {}
        self.requests: list[Request] = []
        self.cdn_behaviour = Behaviour()
        self.page_size = 1000
        """Most files in one answer of the tree listing; more come by `Link: rel="next"`."""
        self.silent = False
        """Take requests and never answer them."""
        self.closed = threading.Event()
        self._answers: list[Answer] = []
        self._lock = threading.Lock()
        self._hub_server = start_server(self, "hub")
        self._cdn_server = start_server(self, "cdn")
        self.endpoint = f"http://127.0.0.1:{self._hub_server.server_address[1]}"
        self.cdn = f"http://127.0.0.1:{self._cdn_server.server_address[1]}"

    def add(self, repo: str, files: Mapping[str, bytes | Path], *, gated: bool = False) -> str:
        """Commit `files` (contents, or paths of large ones) to a repository's `main`; returns the commit."""
        repository = self.repositories.setdefault(repo, Repository(repo, gated))
        repository.gated = gated
        content = dict(repository.commits.get(repository.commit, {}))
        for name, data in files.items():
            content[name] = self._store(data)
        text = json.dumps([repo, repository.commit, sorted((n, f.sha256) for n, f in content.items())])
        repository.commit = hashlib.sha1(text.encode()).hexdigest()
        repository.commits[repository.commit] = content
        return repository.commit

    def answer(
        self,
        status: int,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        method: str | None = None,
        path_part: str = "",
        times: int = 1,
    ) -> None:
        """Answer the next `times` requests whose path contains `path_part` in this way (-1: for good)."""
        answer = Answer(status, headers or {}, body, method, path_part)
        self._answers.extend([answer] * (1_000_000 if times < 0 else times))

    def asked(self, host: str, method: str | None = None, path_part: str = "") -> list[Request]:
        """The requests of a kind, in order. `host` is "hub" or "cdn"."""
        return [
            request
            for request in self.requests
            if request.host == host and method in (None, request.method) and path_part in request.path
        ]

    def bytes_served(self, host: str = "cdn") -> int:
        """How many bytes of file bodies went out."""
        return sum(request.body_bytes for request in self.asked(host, "GET"))

    def take_answer(self, method: str, path: str) -> Answer | None:
        """The queued answer for a request, if one fits; it is used up."""
        with self._lock:
            for index, answer in enumerate(self._answers):
                if answer.method in (None, method) and answer.path_part in path:
                    return self._answers.pop(index)
        return None

    def take_cut(self) -> int | None:
        """After how many bytes the next body is cut, if it is."""
        with self._lock:
            return self.cdn_behaviour.cuts.pop(0) if self.cdn_behaviour.cuts else None

    def by_digest(self, digest: str) -> HubFile | None:
        """A file of any commit by its SHA-256."""
        for repository in self.repositories.values():
            for files in repository.commits.values():
                for file in files.values():
                    if file.sha256 == digest:
                        return file
        return None

    def close(self) -> None:
        """Stop both servers; connections that are open are cut."""
        self.closed.set()
        for server in (self._hub_server, self._cdn_server):
            server.stop()

    def _store(self, data: bytes | Path) -> HubFile:
        if isinstance(data, bytes):
            path = self.folder / hashlib.sha256(data).hexdigest()
            path.write_bytes(data)
        else:
            path = data
        with path.open("rb") as file:
            return HubFile(path, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubEmulator]:
    """An empty Hub; the environment names it, empty caches and an empty configuration, for subprocesses too."""
    folder = tmp_path / "hub-content"
    folder.mkdir()
    emulator = HubEmulator(folder)
    monkeypatch.setenv("HF_ENDPOINT", emulator.endpoint)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf-home"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hf-cache"))
    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / "specdec-cache"))
    monkeypatch.setenv("SPECDEC_CONFIG", str(tmp_path / "specdec-config"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for variable in ("HF_TOKEN", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)
    yield emulator
    _close_client()
    emulator.close()


def _close_client() -> None:
    """End the client's kept connections, so that no test meets those of another."""
    if "huggingface_hub" in sys.modules:
        from huggingface_hub import close_session

        close_session()
