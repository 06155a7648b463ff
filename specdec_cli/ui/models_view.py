"""Models and pairs as people see them: what is here, what would fit, what goes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from specdec_cli.ui.console import Printer
from specdec_cli.ui.sizes import size_text

if TYPE_CHECKING:  # `list` has half a second, and needs only some of it
    from specdec_cli.hardware.values import Machine
    from specdec_cli.recommend import Recommendation
    from specdec_cli.registry.removal import RemovalPlan
    from specdec_cli.registry.store import Inventory, StoredModel, StoredPair

_SHOWN = 8
_STATES = {
    "here": "here",
    "made on first use": "made on first use",
    "partly here": "in part",
    "not here": "no",
}
_FITS = {True: "yes", False: "no", None: "unknown"}


def print_inventory(
    inventory: Inventory,
    fitting: Mapping[str, bool | None],
    stream: TextIO,
    *,
    all_models: bool,
    user_file: Path,
) -> None:
    """The pairs as a table; with `all_models`, also every model that is here."""
    console = _console(stream)
    table = _table("pair", "target", "here?", "size", "fits", "last used")
    for stored in sorted(inventory.pairs, key=lambda stored: stored.state == "not here"):
        table.add_row(*_pair_row(stored, fitting[stored.pair.name]))
    console.print(table)
    others = [model for model in inventory.models if all_models or not model.pairs]
    if others and all_models:
        models = _table("model", "size", "last used", "pairs", "fetched by")
        for model in others:
            models.add_row(*_model_row(model))
        console.print(models)
    elif others:
        total = size_text(sum(model.bytes for model in others))
        console.print(
            Text(f"and {len(others)} models here that belong to no pair, {total}: --all lists them")
        )
    console.print(Text(f"add your own pairs in {user_file}", style="dim"), soft_wrap=True)


def print_recommendations(ranked: Sequence[Recommendation], machine: Machine, stream: TextIO) -> None:
    """The first with its reasons, the best of the others as a table, and what does not fit in a line."""
    console = _console(stream)
    fitting = [recommendation for recommendation in ranked if recommendation.fits]
    if not fitting:
        console.print(Text(f"No pair fits {machine.name} as it is now."))
        console.print(Text("hint: --ctx with a smaller number, or close what uses the memory", style="dim"))
    else:
        first = fitting[0]
        name = first.candidate.pair.name
        console.print(Text(f"For {machine.name}: {first.reference}", style="bold"))
        console.print(Text(f"  {first.why}"), soft_wrap=True)
        if first.candidate.here:
            console.print(Text(f"  it is here: specdec run --pair {first.reference} …"))
        else:
            size = first.candidate.bytes_to_download
            how_much = f" ({size_text(size)})" if size else ""
            console.print(Text(f"  specdec pull {first.reference}{how_much}"))
        if first.candidate.pair.notes:
            console.print(Text(f"  {name}: {first.candidate.pair.notes}", style="dim"))
    others = [recommendation for recommendation in ranked if recommendation not in fitting[:1]]
    table = _table("pair", "plain", "drafted", "download", "fits", "why not")
    for recommendation in others[:_SHOWN]:
        table.add_row(*_recommendation_row(recommendation))
    if table.row_count:
        console.print(table)
    if len(others) > _SHOWN:
        console.print(Text(f"and {len(others) - _SHOWN} more: --json lists all", style="dim"))
    console.print(Text("tokens per second are predicted; specdec bench measures them", style="dim"))


def print_removal(plan: RemovalPlan, printer: Printer) -> None:
    """What goes and what stays, on standard error."""
    for item in plan.items:
        size = size_text(item.model.bytes)
        if item.kept_because is None:
            shared = f", also of {', '.join(item.model.pairs)}" if item.model.pairs else ""
            printer.line(f"remove {item.model.label} · {size}{shared}")
        else:
            printer.line(f"keep   {item.model.label} · {size}: {item.kept_because}", "dim")


def _pair_row(stored: StoredPair, fit: bool | None) -> tuple[str, ...]:
    missing = stored.bytes_missing
    size = size_text(stored.bytes_here) if stored.bytes_here else ""
    if missing:
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


def _recommendation_row(recommendation: Recommendation) -> tuple[str, ...]:
    candidate, prediction = recommendation.candidate, recommendation.prediction
    drafted = prediction.speculative_tps if prediction is not None else None
    size = candidate.bytes_to_download
    return (
        recommendation.reference,
        f"{prediction.plain_tps:.0f}" if prediction is not None else "?",
        f"{drafted.low:.0f}–{drafted.high:.0f}" if drafted is not None else "?",
        "here" if candidate.here else size_text(size) if size else "?",
        _FITS[recommendation.fits],
        recommendation.why if not recommendation.fits else "",
    )


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


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        last = column == columns[-1]
        table.add_column(column, no_wrap=not last, overflow="fold" if last else "ellipsis")
    return table


def _console(stream: TextIO) -> Console:
    return Console(file=stream, highlight=False, soft_wrap=False, emoji=False, markup=False)
