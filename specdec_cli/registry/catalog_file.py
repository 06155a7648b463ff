"""Reading one `models.toml`: every mistake is one error with its file and line.

```
[[model]]                            # a model by name; a pair may also name a reference directly
name = "gemma-3-12b-it"
repo = "bartowski/google_gemma-3-12b-it-GGUF"       # on the Hub, or instead of it
file = "google_gemma-3-12b-it-{quant}.gguf"         #   path = "…"
quants = { Q4_K_M = 7300000000, Q8_0 = 12500000000 }#   package = "…", file = "…"
                                                    #   derived_from = "model name", ftype = "F16"
[[pair]]
name = "gemma3-12b"
target = "gemma-3-12b-it"                           # a model's name, name:QUANT, or any reference; or a list
draft = ["gemma-3-1b-it", "gemma-3-270m-it:Q8_0"]
```
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from specdec_cli.errors import SpecdecError
from specdec_cli.registry.catalog import USES, Catalog, ModelEntry, Pair, nearest
from specdec_cli.registry.catalog_models import COMMON_KEYS, MODEL_KEYS, Mistake, read_entries
from specdec_cli.registry.sources import HubSource, parse_source
from specdec_cli.registry.toml_lines import map_lines

Models = Mapping[str, tuple[ModelEntry, ...]]

_PAIR_KEYS: dict[str, tuple[type, ...]] = COMMON_KEYS | {
    "family": (str,),
    "target": (str, list),
    "draft": (str, list),
    "use": (list,),
    "verified": (bool,),
}
_TYPE_NAMES = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


def read_catalog_file(
    path: Path, known_models: Models | None = None, winning_models: Models | None = None
) -> Catalog:
    """Read one file. Its pairs may name `known_models` too; its own models come first.

    `winning_models` replace the file's own models of the same names.
    """
    return _CatalogReader(path, known_models or {}, winning_models or {}).read()


class _CatalogReader:
    """One file being read: its text, its path, and the models met so far."""

    def __init__(self, path: Path, known_models: Models, winning_models: Models) -> None:
        self._path = path
        self._known = dict(known_models)
        self._winning = winning_models
        self._own: dict[str, tuple[ModelEntry, ...]] = {}
        self._text = ""

    def read(self) -> Catalog:
        document = self._parse()
        for key, value in document.items():
            if key not in ("model", "pair"):
                self._fail(
                    f"unknown table {key!r}; there are [[model]] and [[pair]]", "", 0, key, table_name=key
                )
            if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
                self._fail(f"{key} must be written [[{key}]]", key, 0)
        for index, table in enumerate(document.get("model", [])):
            self._read_model(table, index)
        pairs: dict[str, Pair] = {}
        for index, table in enumerate(document.get("pair", [])):
            pair = self._read_pair(table, index)
            if pair.name in pairs:
                self._fail(f"pair {pair.name!r} is defined twice", "pair", index, "name")
            pairs[pair.name] = pair
        return Catalog(pairs=pairs, models=self._own)

    def _parse(self) -> dict[str, Any]:
        try:
            text = self._path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise SpecdecError(
                f"{self._path}: not UTF-8 text (byte {error.start})", code="registry.invalid"
            ) from None
        except OSError as error:
            raise SpecdecError(
                f"{self._path}: cannot be read ({error.strerror})", code="registry.invalid"
            ) from None
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            reason, line = str(error), len(text.splitlines()) or 1
            if found := re.search(r" \(at line (\d+), column \d+\)", reason):
                reason, line = reason.replace(found[0], ""), int(found[1])
            reason = reason.removesuffix(" (at end of document)")
            raise SpecdecError(f"{self._path}:{line}: {reason}", code="registry.invalid") from None
        self._text = text
        return document

    def _fail(
        self, reason: str, table: str, index: int, key: str | None = None, *, table_name: str | None = None
    ) -> NoReturn:
        lines = map_lines(self._text)
        line = lines.of(table, index, key)
        if table_name is not None and (table, index, key) not in lines.lines:
            line = lines.of(table_name)
        raise SpecdecError(f"{self._path}:{line}: {reason}", code="registry.invalid")

    def _check_keys(
        self, table: dict[str, Any], index: int, kind: str, keys: dict[str, tuple[type, ...]]
    ) -> None:
        for key, value in table.items():
            if key not in keys:
                near = nearest(key, tuple(keys))
                suggestion = f"; did you mean {near}?" if near else ""
                self._fail(f"unknown key {key!r} in [[{kind}]]{suggestion}", kind, index, key)
            # bool is an int to Python, never to a person.
            if not isinstance(value, keys[key]) or (isinstance(value, bool) and bool not in keys[key]):
                wanted = " or ".join(dict.fromkeys(_TYPE_NAMES[one] for one in keys[key]))
                self._fail(f"{key} must be {wanted}, not {value!r}", kind, index, key)
            if isinstance(value, int | float) and not isinstance(value, bool) and value <= 0:
                self._fail(f"{key} must be above zero, not {value!r}", kind, index, key)
        if "name" not in table:
            self._fail(f"[[{kind}]] has no name", kind, index)
        if not _NAME.fullmatch(table["name"]):
            self._fail(f"{table['name']!r} is not a name (letters, digits, . _ + -)", kind, index, "name")

    # models -------------------------------------------------------------------------------------------

    def _read_model(self, table: dict[str, Any], index: int) -> None:
        self._check_keys(table, index, "model", MODEL_KEYS)
        name: str = table["name"]
        if name in self._own:
            self._fail(f"model {name!r} is defined twice", "model", index, "name")
        try:
            if "derived_from" in table and "ftype" in table:
                base = self._entries_of(table["derived_from"], "model", index, "derived_from")[0].source
            else:
                base = None
            entries = read_entries(table, self._path.parent, base)
        except Mistake as mistake:
            self._fail(mistake.reason, "model", index, mistake.key)
        self._own[name] = self._known[name] = self._winning.get(name, entries)

    # pairs --------------------------------------------------------------------------------------------

    def _read_pair(self, table: dict[str, Any], index: int) -> Pair:
        self._check_keys(table, index, "pair", _PAIR_KEYS)
        targets = self._side(table, index, "target")
        drafts = self._side(table, index, "draft")
        for use in table.get("use", []):
            if use not in USES:
                self._fail(f"use knows {' and '.join(USES)}, not {use!r}", "pair", index, "use")
        both = (targets[0], drafts[0])
        contexts = [entry.context for entry in both if entry.context]
        return Pair(
            name=table["name"],
            targets=targets,
            drafts=drafts,
            family=table.get("family", ""),
            use=tuple(table.get("use", ())),
            licence=table.get("licence", targets[0].licence),
            gated=table.get("gated", any(entry.gated for entry in both)),
            context=table.get("context", min(contexts) if contexts else None),
            notes=table.get("notes", ""),
            verified=table.get("verified", False),
            origin=str(self._path),
        )

    def _side(self, table: dict[str, Any], index: int, key: str) -> tuple[ModelEntry, ...]:
        if key not in table:
            self._fail(f"pair {table['name']!r} has no {key}", "pair", index)
        names = [table[key]] if isinstance(table[key], str) else table[key]
        if not names or not all(isinstance(name, str) and name for name in names):
            self._fail(f"{key} must be a model or a list of models", "pair", index, key)
        return tuple(entry for name in names for entry in self._entries_of(name, "pair", index, key))

    def _entries_of(self, text: str, table: str, index: int, key: str) -> tuple[ModelEntry, ...]:
        """The entries a name, `name:QUANT` or reference stands for."""
        if text in self._known:
            return self._known[text]
        base, _, quant = text.partition(":")
        if quant and base in self._known:
            chosen = tuple(entry for entry in self._known[base] if entry.quant == quant)
            if not chosen:
                known = ", ".join(entry.quant or "one without a quantization" for entry in self._known[base])
                self._fail(
                    f"model {base!r} has no quantization {quant} (there are: {known})", table, index, key
                )
            return chosen
        source = parse_source(text, self._path.parent)
        if source is None:
            near = nearest(base, self._known)
            self._fail(
                f"no model is called {text!r}" + (f"; did you mean {near}?" if near else ""),
                table,
                index,
                key,
            )
        if isinstance(source, HubSource) and source.quant:
            return (ModelEntry(source.repo, source, source.quant),)
        return (ModelEntry(text, source),)
