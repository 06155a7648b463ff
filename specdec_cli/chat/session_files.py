"""Sessions on disk: one file each, written whole after every turn, never overwritten by another chat."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from specdec_cli.chat.session_document import NewerDocument, SavedChat, from_document, to_document
from specdec_cli.errors import SpecdecError, UsageProblem

_NAME = re.compile(r"\w[\w .+-]{0,63}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_SUFFIX = ".json"
_ATTEMPTS = 5


@dataclass(frozen=True)
class SessionInfo:
    """One line of `--list`."""

    name: str
    saved_at: datetime
    chat: SavedChat | None
    """None when the file cannot be understood."""


class SessionFile:
    """The file of one running chat. Remembers what it last wrote, so that another chat's words are not lost."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self._stamp: tuple[int, int] | None = None

    @property
    def path(self) -> Path:
        """Where it is, once saved."""
        return self.folder / f"{self.name}{_SUFFIX}"

    def load(self) -> SavedChat | None:
        """The saved chat; None where there is no such file.

        Raises `SpecdecError`: a file that cannot be understood is kept aside under another name first.
        """
        try:
            stamp, text = _stamp(self.path), self.path.read_text(encoding="utf-8")
            chat = from_document(json.loads(text))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except NewerDocument as error:
            raise SpecdecError(f"session {self.name}: {error.message}", hint=error.hint) from error
        except (ValueError, RecursionError) as error:
            kept = self._keep_aside()
            raise CorruptSession(
                f"session {self.name} is damaged; it was kept as {kept.name} in {self.folder}"
            ) from error
        except OSError as error:
            raise SpecdecError(f"{self.path} cannot be read: {error.strerror or error}") from error
        self._stamp = stamp
        return chat

    def save(self, chat: SavedChat) -> str | None:
        """Write it, whole or not at all. Returns the new name when another chat wrote to this file meanwhile:
        then this one goes on beside it. Raises `SpecdecError` when it cannot be written."""
        renamed = None
        if _stamp(self.path) != self._stamp:
            self.name = renamed = free_name(self.folder, self.name)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _replace(self.path, json.dumps(to_document(chat), indent=1))
            self._stamp = _stamp(self.path)
        except OSError as error:
            raise SpecdecError(
                f"the conversation cannot be saved to {self.path}: {error.strerror or error}",
                hint="SPECDEC_STATE names another folder; /export writes it anywhere",
            ) from error
        return renamed

    def _keep_aside(self) -> Path:
        kept = self.path.with_name(f"{self.path.name}.damaged-{datetime.now():%Y%m%d-%H%M%S}")
        self.path.replace(kept)
        return kept


class CorruptSession(SpecdecError):
    """A session file that cannot be understood; it was moved out of the way."""


def check_name(name: str) -> str:
    """The name, if it can be a file's on every system. Raises `UsageProblem`."""
    if not _NAME.fullmatch(name) or _RESERVED.fullmatch(name) or name[-1] in " .":
        raise UsageProblem(
            f"{name!r} cannot be a session's name", hint="letters, digits, space, dot, dash; at most 64"
        )
    return name


def new_name(folder: Path) -> str:
    """A name for a chat that was given none: when it began."""
    return free_name(folder, f"{datetime.now():%Y-%m-%d-%H%M%S}")


def free_name(folder: Path, name: str) -> str:
    """The name, or with a number behind it when it is taken."""
    number, candidate = 1, name
    while (folder / f"{candidate}{_SUFFIX}").exists():
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def list_sessions(folder: Path) -> Iterator[SessionInfo]:
    """All sessions, the last one first."""
    for path in sorted(_files(folder), key=_modified, reverse=True):
        try:
            chat = from_document(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError, SpecdecError):
            chat = None
        yield SessionInfo(path.stem, datetime.fromtimestamp(_modified(path) / 1e9), chat)


def session_names(folder: Path) -> list[str]:
    """Names alone, the last one first."""
    return [path.stem for path in sorted(_files(folder), key=_modified, reverse=True)]


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.glob(f"*{_SUFFIX}") if not path.name.startswith(".")]


def _modified(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime_ns
    return 0


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written again; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _replace(destination: Path, text: str) -> None:
    """Write beside the destination, to the disk, then take its place."""
    temporary = destination.with_name(f".{destination.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        for attempt in range(_ATTEMPTS):
            try:
                temporary.replace(destination)
                return
            except PermissionError:  # Windows: someone reads the old one at this moment
                if attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(0.05)
    finally:
        temporary.unlink(missing_ok=True)
