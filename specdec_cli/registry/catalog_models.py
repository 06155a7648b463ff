"""One `[[model]]` table: from its keys to the entries it stands for."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from specdec_cli.registry.catalog import ModelEntry, ModelFacts, nearest
from specdec_cli.registry.sources import (
    DERIVED_TYPES,
    DerivedSource,
    HubSource,
    PackageSource,
    PathSource,
    Source,
    parse_source,
)

COMMON_KEYS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "licence": (str,),
    "gated": (bool,),
    "context": (int,),
    "notes": (str,),
}
MODEL_KEYS: dict[str, tuple[type, ...]] = COMMON_KEYS | {
    "repo": (str,),
    "file": (str,),
    "quants": (dict, list),
    "path": (str,),
    "package": (str,),
    "derived_from": (str,),
    "ftype": (str,),
    "bytes": (int,),
    "parameters": (int, float),
    "shape": (dict,),
}
_GOES_WITH = {"repo": ("file", "quants"), "path": (), "package": ("file",), "derived_from": ("ftype",)}
_NEEDS = {"package": "file", "derived_from": "ftype"}
_FACTS = {field.name: field for field in fields(ModelFacts)}

Sized = tuple[Source, str | None, int]
"""A source, its quantization, its bytes (0: unknown)."""


class Mistake(Exception):
    """What is wrong with a table, and with which key (None: with the table)."""

    def __init__(self, reason: str, key: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.key = key


def read_entries(table: dict[str, Any], folder: Path, derived_base: Source | None) -> tuple[ModelEntry, ...]:
    """The entries of a table whose keys and their types are checked already. Raises `Mistake`.

    `folder` is what paths are relative to; `derived_base` what `derived_from` names.
    """
    facts = _facts(table["shape"]) if "shape" in table else None
    return tuple(
        ModelEntry(
            name=table["name"],
            source=source,
            quant=quant,
            bytes=size or table.get("bytes"),
            parameters=int(table["parameters"]) if "parameters" in table else None,
            licence=table.get("licence"),
            gated=table.get("gated", False),
            context=table.get("context"),
            facts=facts,
        )
        for source, quant, size in _sources(table, folder, derived_base)
    )


def _sources(table: dict[str, Any], folder: Path, derived_base: Source | None) -> list[Sized]:
    places = [key for key in _GOES_WITH if key in table]
    if len(places) != 1:
        found = " and ".join(places) or "none"
        raise Mistake(f"a model needs one of repo, path, package, derived_from; found {found}")
    place = places[0]
    for key in ("file", "quants", "ftype"):
        if key in table and key not in _GOES_WITH[place]:
            raise Mistake(f"{key} does not go with {place}", key)
    if place in _NEEDS and _NEEDS[place] not in table:
        raise Mistake(f"{place} needs {_NEEDS[place]} too", place)
    if place == "repo":
        return _hub_sources(table)
    if place == "path":
        return [(PathSource(folder / Path(table["path"]).expanduser()), None, 0)]
    if place == "package":
        return [(PackageSource(table["package"], table["file"]), None, 0)]
    ftype = table["ftype"]
    if ftype not in DERIVED_TYPES:
        raise Mistake(f"ftype must be one of {', '.join(DERIVED_TYPES)}, not {ftype}", "ftype")
    assert derived_base is not None
    return [(DerivedSource(derived_base, ftype), ftype, 0)]


def _hub_sources(table: dict[str, Any]) -> list[Sized]:
    repo, file = table["repo"], table.get("file")
    if not isinstance(parse_source(f"{repo}:Q8_0"), HubSource):
        raise Mistake(f"repo must be owner/name, not {repo!r}", "repo")
    quants = table.get("quants", {})
    if isinstance(quants, list):
        quants = dict.fromkeys(quants, 0)
    for quant, size in quants.items():
        if not isinstance(quant, str) or not _is_count(size):
            raise Mistake(f"quants must give bytes for each quantization, not {quant} = {size!r}", "quants")
    if file is not None and not file.endswith(".gguf"):
        raise Mistake(f"file must end in .gguf, not {file!r}", "file")
    if file is not None and ("{quant}" in file) != bool(quants):
        raise Mistake("a file with {quant} in its name and quants go together", "file")
    if not quants:
        return [(HubSource(repo, file=file), None, 0)]
    if file is None:
        return [(HubSource(repo, quant=quant), quant, size) for quant, size in quants.items()]
    return [
        (HubSource(repo, file=file.replace("{quant}", quant)), quant, size) for quant, size in quants.items()
    ]


def _facts(table: dict[str, Any]) -> ModelFacts:
    for key, value in table.items():
        if key not in _FACTS:
            near = nearest(key, tuple(_FACTS))
            raise Mistake(
                f"unknown key {key!r} in shape" + (f"; did you mean {near}?" if near else ""), "shape"
            )
        wanted = {"architecture": str, "tied": bool}.get(key, int)
        if not isinstance(value, wanted) or (wanted is int and not _is_count(value)):
            raise Mistake(f"{key} in shape cannot be {value!r}", "shape")
    missing = [name for name, field in _FACTS.items() if field.default is MISSING and name not in table]
    if missing:
        raise Mistake(f"shape needs {', '.join(missing)} too", "shape")
    return ModelFacts(**table)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
