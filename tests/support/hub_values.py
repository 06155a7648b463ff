"""The values of the emulated Hub: what it holds, what it is told to do wrong, what it was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

GOOD_TOKEN = "hf_emulatorEmulatorEmulatorEmulator"
"""The token of someone who accepted every licence."""
HTML = b"<!DOCTYPE html><html><body>Sign in to the airport network</body></html>"


@dataclass(frozen=True)
class HubFile:
    """One file of a repository; the content is on disk."""

    path: Path
    size: int
    sha256: str


@dataclass
class Repository:
    """What one repository holds now; an older commit's files stay reachable by the commit."""

    name: str
    gated: bool
    commit: str = ""
    commits: dict[str, dict[str, HubFile]] = field(default_factory=dict)

    def files_at(self, revision: str) -> tuple[str, dict[str, HubFile]] | None:
        commit = self.commit if revision == "main" else revision
        files = self.commits.get(commit)
        return None if files is None else (commit, files)


@dataclass
class Behaviour:
    """How the bodies of files go wrong."""

    ignore_ranges: bool = False
    bytes_per_second: float | None = None
    cuts: list[int] = field(default_factory=list)
    """Each answer takes the first of these and closes the connection after so many bytes."""
    corrupt: bool = False
    """One byte in the middle of the file is another one."""
    shorten: int = 0
    """The file ends so many bytes early, and the answer says so."""
    html: bool = False
    """A web page instead of the file, status 200."""


@dataclass(frozen=True)
class Answer:
    """An answer that comes instead of the real one."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    method: str | None
    path_part: str


@dataclass
class Request:
    """What was asked of whom, and how much body went out."""

    host: str
    method: str
    path: str
    headers: dict[str, str]
    body_bytes: int = 0
