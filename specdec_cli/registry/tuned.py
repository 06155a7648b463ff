"""What `specdec tune` found best: defaults of this machine for a pair, in the user's config folder.

One JSON file, `tuned.json`, for all machines that share the folder: `{"schema": 1, "machines": {machine:
{pair: settings}}}`. It may be edited or deleted; what the user types always wins over it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from specdec_cli.errors import SpecdecError
from specdec_cli.registry.atomic import read_json, write_json
from specdec_cli.registry.folders import config_dir

SCHEMA = 1


@dataclass(frozen=True)
class TunedSettings:
    """Settings for one pair on one machine; None leaves the default."""

    drafter: str | None = None
    draft_max: int | None = None
    threads: int | None = None
    draft_threads: int | None = None
    draft_kv_type: str | None = None
    kv_type: str | None = None
    """Only where the user allowed it: a quantized cache of the target changes its answers."""
    draft: str | None = None
    """Another draft than the pair's own: a reference as `--draft` takes it."""
    speedup: float | None = None
    """Over plain decoding, when it was measured."""
    gain: float | None = None
    """Over the defaults."""
    measured_at: str = ""


def pair_key(pair: str | None, target: str | None, draft: str | None) -> str | None:
    """The name under which settings of these models are kept; None where no model is named.

    A file by its absolute path, so that it does not matter from where it is named; all else as it is typed.
    """
    if pair is not None:
        return f"pair {pair}"
    if target is None:
        return None
    return " + ".join(_absolute(reference) for reference in (target, draft) if reference is not None)


def machine_key() -> str:
    """Tells machines that share a config folder apart."""
    return f"{platform.node()} {platform.machine()} {os.cpu_count()}"


def load_tuned(key: str | None, folder: Path | None = None) -> TunedSettings | None:
    """What was found best for these models here; None where nothing was, or where it cannot be understood."""
    if key is None:
        return None
    document = read_json(_file(folder))
    try:
        stored = document["machines"][machine_key()][key]
        return _settings(stored) if document["schema"] == SCHEMA else None
    except (KeyError, TypeError, ValueError):
        return None


def save_tuned(key: str, settings: TunedSettings, folder: Path | None = None) -> Path:
    """Store settings; returns the file. Raises `SpecdecError` when the file cannot be written, or holds something
    else that would be lost."""
    return _change(key, settings, folder)


def forget_tuned(key: str, folder: Path | None = None) -> bool:
    """Drop what was stored for these models here; whether there was anything."""
    if load_tuned(key, folder) is None:
        return False
    _change(key, None, folder)
    return True


def _change(key: str, settings: TunedSettings | None, folder: Path | None) -> Path:
    path = _file(folder)
    document: Any = read_json(path) if path.exists() else {"schema": SCHEMA, "machines": {}}
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise SpecdecError(f"{path} is not what specdec tune wrote", hint="move it away, then try again")
    pairs = document.setdefault("machines", {}).setdefault(machine_key(), {})
    pairs.pop(key, None)
    if settings is not None:
        pairs[key] = {name: value for name, value in asdict(settings).items() if value not in (None, "")}
    try:
        write_json(path, document)
    except OSError as error:
        raise SpecdecError(f"{path} cannot be written: {error.strerror or error}") from error
    return path


def _settings(stored: Mapping[str, Any]) -> TunedSettings:
    """Raises `ValueError` for values of a wrong kind, which somebody may have typed."""
    known = {field.name for field in fields(TunedSettings)}
    values = {name: value for name, value in stored.items() if name in known}
    for name, value in values.items():
        wanted: tuple[type, ...] = (str,)
        if name in ("draft_max", "threads", "draft_threads"):
            wanted = (int,)
        elif name in ("speedup", "gain"):
            wanted = (int, float)
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise ValueError(name)
    return TunedSettings(**values)


def _absolute(reference: str) -> str:
    path = Path(reference).expanduser()
    return str(path.resolve()) if path.is_file() else reference


def _file(folder: Path | None) -> Path:
    return (folder if folder is not None else config_dir()) / "tuned.json"
