"""Recommendations and removals as people see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from specdec_cli.ui.console import Printer
from specdec_cli.ui.sizes import size_text

if TYPE_CHECKING:
    from specdec_cli.hardware.values import Machine
    from specdec_cli.recommend import Recommendation
    from specdec_cli.registry.removal import RemovalPlan

_SHOWN = 8
_FITS = {True: "yes", False: "no", None: "unknown"}


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


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        last = column == columns[-1]
        table.add_column(column, no_wrap=not last, overflow="fold" if last else "ellipsis")
    return table


def _console(stream: TextIO) -> Console:
    return Console(file=stream, highlight=False, soft_wrap=False, emoji=False, markup=False)
