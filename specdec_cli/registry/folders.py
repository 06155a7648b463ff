"""Where specdec keeps its own files, and where the Hub keeps its."""

from __future__ import annotations

import os
from pathlib import Path

APP_NAME = "specdec"


def cache_dir() -> Path:
    """Folder for what can be made again: derived models, remote headers. `SPECDEC_CACHE` overrides it."""
    override = os.environ.get("SPECDEC_CACHE")
    if override:
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir(APP_NAME, appauthor=False))


def config_dir() -> Path:
    """Folder of the user's own `models.toml`. `SPECDEC_CONFIG` overrides it."""
    override = os.environ.get("SPECDEC_CONFIG")
    if override:
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_config_dir(APP_NAME, appauthor=False))


def user_models_file() -> Path:
    """The user's own `models.toml`; it need not exist."""
    return config_dir() / "models.toml"


def hub_cache_dir() -> Path:
    """The Hub's ordinary cache, by the Hub client's own rules, without importing the client.

    `HF_HUB_CACHE` first, then the older `HUGGINGFACE_HUB_CACHE`, then `HF_HOME/hub`, then
    `XDG_CACHE_HOME/huggingface/hub`, then `~/.cache/huggingface/hub` (on every system).
    """
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if value := os.environ.get(variable):
            return _expanded(value)
    home = os.environ.get("HF_HOME")
    if home:
        return _expanded(home) / "hub"
    xdg = os.environ.get("XDG_CACHE_HOME")
    base = _expanded(xdg) if xdg else Path.home() / ".cache"
    return base / "huggingface" / "hub"


def _expanded(value: str) -> Path:
    return Path(os.path.expandvars(value)).expanduser()
