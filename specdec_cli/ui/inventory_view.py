"""What is here, as people see it. Plain text: `list` has half a second, and rich alone would take a fifth of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from specdec_cli.ui.sizes import size_text

if TYPE_CHECKING:
    from specdec_cli.registry.store import Inventory, StoredModel, StoredPair

_FITS = {True: "yes", False: "no", None: "unknown"}
_STATES = {
    "here": "here",
    "made on first use": "made on first use",
    "partly here": "in part",
    "not here": "no",
}


def print_inventory(
    inventory: Inventory,
    fitting: Mapping[str, bool | None],
    stream: TextIO,
    *,
    all_models: bool,
    user_file: Path,
) -> None:
    """The pairs as a table; with `all_models`, also every model that is here."""
    here_first = sorted(inventory.pairs, key=lambda stored: stored.state == "not here")
    rows = [_pair_row(stored, fitting[stored.pair.name]) for stored in here_first]
    stream.write(aligned([("pair", "target", "here?", "size", "fits", "last used"), *rows]))
    others = [model for model in inventory.models if all_models or not model.pairs]
    if others and all_models:
        stream.write("\n")
        models = [_model_row(model) for model in others]
        stream.write(aligned([("model", "size", "last used", "pairs", "fetched by"), *models]))
    elif others:
        total = size_text(sum(model.bytes for model in others))
        stream.write(f"and {len(others)} models here that belong to no pair, {total}: --all lists them\n")
    stream.write(f"\nadd your own pairs in {user_file}\n")


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of equally many cells as lines, columns two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def _pair_row(stored: StoredPair, fit: bool | None) -> tuple[str, ...]:
    missing = stored.bytes_missing
    size = size_text(stored.bytes_here) if stored.bytes_here else ""
    if missing is None:
        size = f"{size} + ?" if size else "? to get"
    elif missing:
        size = f"{size} + {size_text(missing)}" if size else f"{size_text(missing)} to get"
    used = max((m.last_used for m in (stored.target, stored.draft) if m and m.last_used), default=None)
    return (
        stored.pair.name,
        stored.target_entry.quant or "",
        _STATES[stored.state],
        size,
        _FITS[fit],
        _ago(used),
    )


def _model_row(model: StoredModel) -> tuple[str, ...]:
    by = (
        "specdec"
        if model.fetched_by_specdec
        else {"package": "pip", "path": "you"}.get(model.place, "another tool")
    )
    return model.label, size_text(model.bytes), _ago(model.last_used), ", ".join(model.pairs), by


def _ago(seconds: float | None, now: float | None = None) -> str:
    """`3 days ago`; nothing for never."""
    if seconds is None:
        return ""
    passed = max(0.0, (time.time() if now is None else now) - seconds)
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        count = int(passed // length)
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
