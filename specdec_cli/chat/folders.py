"""Where chats keep what they remember."""

from __future__ import annotations

import os
from pathlib import Path

APP_NAME = "specdec"


def state_dir() -> Path:
    """Folder of sessions and of the line history. `SPECDEC_STATE` overrides it."""
    override = os.environ.get("SPECDEC_STATE")
    if override:
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_state_dir(APP_NAME, appauthor=False))


def sessions_dir() -> Path:
    """One JSON file per conversation."""
    return state_dir() / "sessions"


def history_file() -> Path:
    """Lines typed in earlier chats."""
    return state_dir() / "history"
