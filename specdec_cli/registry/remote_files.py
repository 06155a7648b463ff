"""Files of the Hub as values. Nothing here needs the Hub's client."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from specdec_cli.registry.sources import HubSource

DEFAULT_ENDPOINT = "https://huggingface.co"
_SHA256 = re.compile(r"[0-9a-f]{64}")


def hub_endpoint() -> str:
    """Where the Hub is: `HF_ENDPOINT`, or the public one."""
    return (os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")


def is_offline(flag: bool = False) -> bool:
    """Whether the network must not be used: by `--offline`, or as the Hub's client reads its environment."""
    words = (os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or "").upper()
    return flag or words in {"1", "ON", "YES", "TRUE"}


@dataclass(frozen=True)
class RemoteFile:
    """One file of a repository at one commit."""

    repo: str
    file: str
    commit: str
    etag: str
    size: int
    location: str
    """Where the bytes are; a signed address that lasts about an hour."""

    @property
    def name(self) -> str:
        """`owner/repo/file.gguf`."""
        return f"{self.repo}/{self.file}"

    @property
    def sha256(self) -> str | None:
        """The content's SHA-256 in hex, which the etag of every large file is."""
        return self.etag if _SHA256.fullmatch(self.etag) else None


@dataclass(frozen=True)
class RemoteModel:
    """A model on the Hub: its parts in order, one for a model in one file."""

    source: HubSource
    files: tuple[RemoteFile, ...]

    @property
    def bytes(self) -> int:
        """Size of all parts."""
        return sum(file.size for file in self.files)
