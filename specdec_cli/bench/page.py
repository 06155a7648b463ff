"""`bench --html`: one page that needs nothing else, no network included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from string import Template
from typing import Any

from specdec_cli.bench import charts
from specdec_cli.bench.report import BenchReport, Cell
from specdec_cli.bench.statistics import Estimate

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
body { font-family: system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1c2329; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #d8dee3; text-align: right; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
.better { color: #0b6b35; font-weight: 600; } .worse { color: #a12622; font-weight: 600; }
svg { max-width: 100%; height: auto; } dt { font-weight: 600; } dd { margin: 0 0 0.3rem 0; } p { max-width: 46rem; }
</style>
</head>
<body>
<h1>$title</h1>
<dl>$about</dl>
<p>$verdict</p>
$sections
</body>
</html>
""")


def bench_page(report: BenchReport) -> str:
    """The whole page. Raises `SpecdecError` when pygal is not installed."""
    sections = [
        ("Speed-up by task", charts.speedup_chart(report), _SPEEDUP_NOTE),
        ("Tokens per second", charts.speed_chart(report), ""),
        ("Where the time went", charts.time_chart(report), ""),
        ("Acceptance by position in the draft", charts.acceptance_chart(report), ""),
    ]
    if report.profile is not None:
        sections.append(("What a decode costs here", charts.cost_chart(report.profile), _COST_NOTE))
    sections.append(("All figures", _table(report), _bound(report)))
    return _PAGE.substitute(
        title=escape(_title(report.about)),
        about="".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in _facts(report)),
        verdict=escape(_verdict(report)),
        sections="\n".join(
            f"<h2>{escape(heading)}</h2>\n{content}\n<p>{escape(note)}</p>"
            for heading, content, note in sections
        ),
    )


_SPEEDUP_NOTE = (
    "Geometric means of pairs: both answer the same prompt shortly after one another. The whiskers are 95 % "
    "intervals (Student's t on the logarithms of the ratios); where 1 lies inside, nothing is proved."
)
_COST_NOTE = (
    "Verifying a draft of n tokens is one decode of n + 1. Where the curve is flat, drafts are nearly free; "
    "where it rises like the number of tokens, only very good drafts pay."
)


def _title(about: Mapping[str, Any]) -> str:
    return f"specdec bench: {about['target']['name']} {about['target']['quant']}"


def _facts(report: BenchReport) -> Iterable[tuple[str, str]]:
    about = report.about
    draft = about["draft"]
    yield "Draft", f"{draft['name']} {draft['quant']}" if draft else "none"
    engine = about["engine"]
    yield "Engine", f"llama-cpp-python {engine['llama_cpp_python']}, {engine['backend']}"
    yield "Settings", ", ".join(f"{name} {value}" for name, value in about["settings"].items())
    yield "Measured", f"{about['measured_at']}, specdec {about['specdec']}"


def _verdict(report: BenchReport) -> str:
    compared = [cell for cell in report.cells if cell.speedup is not None]
    pairs = sum(cell.same + cell.ties + cell.different for cell in compared)
    if report.lossless:
        ties = sum(cell.ties for cell in compared)
        text = f"All {pairs} speculative answers are plain decoding's, token for token"
        text += f", except for {ties} that part where two tokens are equally likely." if ties else "."
    else:
        different = sum(cell.different for cell in compared)
        text = (
            f"{different} of {pairs} speculative answers differ from plain decoding's: "
            "specdec verify tells whether rounding explains it."
        )
    return text + (" The measurement was stopped early." if report.interrupted else "")


def _table(report: BenchReport) -> str:
    heads = (
        "task",
        "drafter",
        "tok/s",
        "speed-up",
        "95 %",
        "accepted",
        "per round",
        "target",
        "draft",
        "other",
    )
    rows = "".join(_row(cell) for cell in report.cells)
    return f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{rows}</table>"


def _row(cell: Cell) -> str:
    estimate = cell.speedup
    rate = cell.acceptance_rate
    fields = [
        escape(cell.task),
        escape(cell.variant),
        f"{cell.tokens_per_second:.1f}",
        "" if estimate is None else f'<span class="{_class(estimate)}">{estimate.value:.2f}×</span>',
        "" if estimate is None or estimate.low is None else f"{estimate.low:.2f} to {estimate.high:.2f}",
        "" if rate is None else f"{rate:.0%}",
        f"{cell.mean_tokens_per_round:.2f}",
        *(f"{share:.0%}" for share in (cell.target_share, cell.draft_share, cell.other_share)),
    ]
    return f"<tr>{''.join(f'<td>{value}</td>' for value in fields)}</tr>"


def _class(estimate: Estimate) -> str:
    return "better" if estimate.surely_above_one else "worse" if estimate.surely_below_one else ""


def _bound(report: BenchReport) -> str:
    if not report.foresight:
        return ""
    bounds = ", ".join(f"{task} {bound.speedup:.2f}×" for task, bound in report.foresight.items())
    return f"With perfect foresight, the best that these drafters could give here: {bounds}."
