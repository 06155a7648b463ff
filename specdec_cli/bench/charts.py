"""Charts as SVG, drawn by pygal: small, pure Python, and it knows confidence intervals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from specdec_cli.bench.report import BenchReport
from specdec_cli.bench.values import Sample
from specdec_cli.errors import SpecdecError

_COLOURS = ("#5b6770", "#0b7a75", "#d1603d", "#6a4c93", "#c9a227", "#2f6db5", "#8c2f39", "#4f772d")
_WIDTH, _HEIGHT = 960, 380
_NOT_NEEDED = re.compile(r"<!--.*?-->|<script.*?</script>|<script[^>]*/>", re.DOTALL)
"""Comments with the library's address, and the scripts for its tooltips."""
PARTS = ("target", "draft", "other")


def require_pygal() -> Any:
    """The plotting library. Raises `SpecdecError` saying how to install it."""
    try:
        import pygal
    except ImportError as error:
        raise SpecdecError(
            "--html draws its charts with pygal, which is not installed",
            hint="pip install 'specdec-cli[html]'",
        ) from error
    return pygal


def speedup_chart(report: BenchReport) -> str:
    """Bars per task and variant, with their confidence intervals; 1 is plain decoding."""
    top = _top(report)
    chart = _chart(
        "Bar",
        "times plain decoding",
        colours=_COLOURS[1:],
        value_formatter=lambda value: f"{value:.2f}",
        range=(0, top),
        y_labels_major=[1],
    )
    step = next(step for step in (0.25, 0.5, 1, 2, 5, 10, 100) if top / step < 12)
    chart.y_labels = [round(index * step, 2) for index in range(int(top / step) + 1)]
    chart.x_labels = list(report.tasks)
    for variant in report.variants[1:]:
        chart.add(variant, [_with_interval(report, task, variant, top) for task in report.tasks])
    return _svg(chart)


def speed_chart(report: BenchReport) -> str:
    """Median tokens per second per task and variant."""
    chart = _chart("Bar", "tokens per second", value_formatter=lambda value: f"{value:.1f}")
    chart.x_labels = list(report.tasks)
    for variant in report.variants:
        cells = [report.cell(task, variant) for task in report.tasks]
        chart.add(variant, [None if cell is None else cell.tokens_per_second for cell in cells])
    return _svg(chart)


def time_chart(report: BenchReport) -> str:
    """Where the time went, a bar per variant, all tasks together."""
    chart = _chart("StackedBar", "share of the time, %", value_formatter=lambda value: f"{value:.0f}")
    chart.x_labels = list(report.variants)
    shares = [time_shares([s for s in report.samples if s.variant == variant]) for variant in report.variants]
    for part in PARTS:
        chart.add(part, [share[part] * 100 for share in shares])
    return _svg(chart)


def acceptance_chart(report: BenchReport) -> str:
    """For each position in a draft, how many of the tokens that got there were accepted."""
    chart = _chart(
        "Line",
        "accepted, %",
        colours=_COLOURS[1:],
        value_formatter=lambda value: f"{value:.0f}",
        range=(0, 100),
    )
    chart.x_title = "position in the draft"
    rates = {
        variant: acceptance_by_position([s for s in report.samples if s.variant == variant])
        for variant in report.variants[1:]
    }
    chart.x_labels = [str(position + 1) for position in range(max(map(len, rates.values()), default=0))]
    for variant, values in rates.items():
        if values:
            chart.add(variant, [value * 100 for value in values])
    return _svg(chart)


def cost_chart(profile: Mapping[str, Any]) -> str:
    """Seconds of a decode over the rows in it, as they were measured."""
    chart = _chart("XY", "milliseconds", value_formatter=lambda value: f"{value:g}")
    chart.x_title = "tokens in one decode"
    for role in ("target", "draft"):
        curve = profile.get(f"{role}_seconds")
        if curve:
            points = sorted((int(rows), seconds * 1000) for rows, seconds in curve.items())
            chart.add(role, [(rows, round(value, 3)) for rows, value in points])
    return _svg(chart)


def time_shares(samples: Sequence[Sample]) -> dict[str, float]:
    """Target, draft and other, each 0 … 1 of the generation time of all samples."""
    seconds = sum(sample.seconds for sample in samples)
    if seconds <= 0:
        return dict.fromkeys(PARTS, 0.0)
    target = sum(sample.target_seconds for sample in samples) / seconds
    draft = sum(sample.draft_seconds for sample in samples) / seconds
    return {"target": target, "draft": draft, "other": max(0.0, 1.0 - target - draft)}


def acceptance_by_position(samples: Sequence[Sample]) -> list[float]:
    """Accepted ÷ drafted at each position of a draft."""
    records = [record for sample in samples for record in sample.rounds]
    longest = max((record.drafted for record in records), default=0)
    return [
        sum(record.accepted > position for record in records)
        / sum(record.drafted > position for record in records)
        for position in range(longest)
    ]


def _top(report: BenchReport) -> float:
    """The end of the axis of speed-ups: room for the intervals, unless they are wide beyond all use."""
    estimates = [cell.speedup for cell in report.cells if cell.speedup is not None]
    value = max((estimate.value for estimate in estimates), default=1.0)
    high = max((estimate.high or 0.0 for estimate in estimates), default=1.0)
    return max(1.25, value * 1.05, min(high, 2 * value))


def _with_interval(report: BenchReport, task: str, variant: str, top: float) -> dict[str, Any] | None:
    cell = report.cell(task, variant)
    if cell is None or cell.speedup is None:
        return None
    estimate = cell.speedup
    value: dict[str, Any] = {"value": estimate.value}
    if estimate.low is not None and estimate.high is not None:
        value["ci"] = {"low": estimate.low, "high": min(estimate.high, top)}
    return value


def _chart(kind: str, y_title: str, *, colours: Sequence[str] = _COLOURS, **options: Any) -> Any:
    pygal = require_pygal()
    style = pygal.style.Style(
        background="transparent",
        plot_background="transparent",
        colors=colours,
        font_family="system-ui, sans-serif",
        label_font_size=13,
        major_label_font_size=13,
        legend_font_size=13,
        title_font_size=14,
        guide_stroke_color="#dde3e8",
        guide_stroke_dasharray="none",
        major_guide_stroke_color="#5b6770" if "y_labels_major" in options else "#dde3e8",
        major_guide_stroke_dasharray="none",
    )
    return getattr(pygal, kind)(
        style=style,
        js=(),
        width=_WIDTH,
        height=_HEIGHT,
        y_title=y_title,
        legend_at_bottom=True,
        legend_at_bottom_columns=4,
        include_x_axis=True,
        disable_xml_declaration=True,
        margin=10,
        margin_bottom=40,
        **options,
    )


def _svg(chart: Any) -> str:
    return _NOT_NEEDED.sub("", str(chart.render(is_unicode=True)))
