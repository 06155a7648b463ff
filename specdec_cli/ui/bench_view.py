"""`specdec bench` for people: a Markdown table in 80 columns, ready to paste into an issue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from specdec_cli.bench.report import BenchReport, Cell
from specdec_cli.bench.statistics import Estimate

_HEADS = ("task", "drafter", "tok/s", "speed-up (95 %)", "acc", "/round", "t/d/o %")
_LEFT = 2
"""So many columns are text."""


def print_bench(report: BenchReport, stream: TextIO) -> None:
    """What was run, the table, what it comes to, and whether the answers were the same."""
    for line in bench_lines(report):
        stream.write(line + "\n")


def bench_lines(report: BenchReport) -> Iterator[str]:
    """The lines of `print_bench`."""
    yield from _heading(report)
    yield ""
    yield from table_lines(_HEADS, [_row(cell, report) for cell in report.cells], _LEFT)
    yield ""
    for variant, estimate in report.overall.items():
        yield f"{variant} over all tasks: {ratio_text(estimate)}{_verdict(estimate)}"
    if report.foresight:
        bounds = ", ".join(f"{task} {bound.speedup:.2f}×" for task, bound in report.foresight.items())
        yield f"with perfect foresight at best: {bounds}"
    yield _answers(report)
    if report.interrupted:
        yield "stopped early: what was complete by then counts"
    yield "acc: accepted of the drafted tokens · /round: tokens per decode of the target"
    yield "t/d/o: time in the target, in the draft, and in everything else"


def table_lines(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    """A Markdown table whose columns are aligned in plain text too; the first `left` columns to the left."""
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    yield _line(heads, widths, left)
    rules = ["-" * width if column < left else "-" * (width - 1) + ":" for column, width in enumerate(widths)]
    yield " | ".join(rules)
    for row in rows:
        yield _line(row, widths, left)


def ratio_text(estimate: Estimate) -> str:
    """1.23× (1.10–1.37), or the value alone where there is no interval."""
    text = f"{estimate.value:.2f}×"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({estimate.low:.2f}–{estimate.high:.2f})"


def _line(fields: Sequence[str], widths: Sequence[int], left: int) -> str:
    cells = (
        field.ljust(width) if column < left else field.rjust(width)
        for column, (field, width) in enumerate(zip(fields, widths, strict=True))
    )
    return " | ".join(cells).rstrip()


def _heading(report: BenchReport) -> Iterator[str]:
    about = report.about
    draft = about["draft"]
    yield f"target {about['target']['name']} {about['target']['quant']}"
    if draft is not None:
        yield f"draft  {draft['name']} {draft['quant']}"
    engine, settings = about["engine"], about["settings"]
    yield f"specdec {about['specdec']} · llama-cpp-python {engine['llama_cpp_python']} · {engine['backend']}"
    yield (
        f"{settings['runs']} runs of {settings['max_tokens']} tokens, greedy · threads {settings['threads']}"
        f" · KV {settings['kv_type']}"
    )
    lengths = ", ".join(f"{variant} {length}" for variant, length in about["draft_max"].items())
    yield f"longest drafts: {lengths}"


def _row(cell: Cell, report: BenchReport) -> tuple[str, ...]:
    rate = cell.acceptance_rate
    shares = (cell.target_share, cell.draft_share, cell.other_share)
    return (
        cell.task if cell.variant == report.variants[0] else "",
        cell.variant + ("" if cell.lossless else " !"),
        f"{cell.tokens_per_second:.1f}",
        "" if cell.speedup is None else ratio_text(cell.speedup),
        "" if rate is None else f"{rate:.0%}",
        f"{cell.mean_tokens_per_round:.2f}",
        "/".join(f"{share * 100:.0f}" for share in shares),
    )


def _verdict(estimate: Estimate) -> str:
    if estimate.low is None:
        return ", of too few pairs for an interval"
    if estimate.surely_above_one:
        return ", faster"
    if estimate.surely_below_one:
        return ", slower"
    return ", no proven difference"


def _answers(report: BenchReport) -> str:
    cells = [cell for cell in report.cells if cell.speedup is not None]
    same, ties = sum(cell.same for cell in cells), sum(cell.ties for cell in cells)
    different = sum(cell.different for cell in cells)
    text = f"answers: {same} of {same + ties + different} the same as plain decoding's, token for token"
    if ties:
        text += f"; {ties} part where two tokens tie"
    if different:
        text += f"; {different} DIFFER (marked !): specdec verify tells whether rounding explains it"
    return text
