"""Cost profiles on disk, one per pair of model files, machine and settings."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from specdec_cli.draft.costs import CostProfile
from specdec_cli.errors import SpecdecError


def file_identity(path: Path) -> str:
    """Tells a model file from another, and from a later version of itself, without reading it."""
    status = path.stat()
    return f"{path.name}:{status.st_size}:{status.st_mtime_ns}"


class ProfileStore:
    """Profiles under `directory`, by everything that a cost depends on. A profile that is unreadable is not there."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def path(self, circumstances: Mapping[str, object]) -> Path:
        """The file for these circumstances: model identities, machine, threads, KV type, layers on the GPU, ...

        Values must be what JSON can hold.
        """
        canonical = json.dumps(dict(circumstances), sort_keys=True, ensure_ascii=True)
        return self._directory / f"{hashlib.sha256(canonical.encode()).hexdigest()[:32]}.json"

    def load(self, circumstances: Mapping[str, object]) -> CostProfile | None:
        """The stored profile, or None when there is none that can be used."""
        try:
            document = json.loads(self.path(circumstances).read_text(encoding="utf-8"))
            return CostProfile.from_json(document["profile"])
        except (OSError, ValueError, TypeError, KeyError, SpecdecError):
            return None

    def save(self, circumstances: Mapping[str, object], profile: CostProfile) -> None:
        """Store it, whole or not at all. A cache that cannot be written is no reason to fail: it is left alone."""
        path = self.path(circumstances)
        document = {"circumstances": dict(circumstances), "profile": profile.to_json()}
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=self._directory, prefix=".profile-", suffix=".part")
        except OSError:
            return
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                json.dump(document, stream, indent=1)
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
