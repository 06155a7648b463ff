"""`specdec check` for people: the verdict, what to do, then the tables. Readable in 80 columns without colour."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from specdec_cli.compat.report import ModelSummary
from specdec_cli.compat.size import file_size
from specdec_cli.findings import Finding, Level
from specdec_cli.memory.findings import human_size
from specdec_cli.memory.placement import Parts
from specdec_cli.memory.plan import DevicePlan, MemoryPlan
from specdec_cli.predict import Prediction
from specdec_cli.preflight.document import display_name
from specdec_cli.preflight.report import PreflightReport

_WIDEST = 100
_NARROWEST = 60
_STYLES: dict[str, str] = {
    "ok": "bold green",
    "warn": "bold yellow",
    "fail": "bold red",
    "error": "bold red",
    "warning": "yellow",
    "info": "dim",
}
_NO_TERMINAL_WIDTH = 80


def print_check(report: PreflightReport, stream: TextIO) -> None:
    """The whole report."""
    console = _console(stream)
    console.print(_verdict_line(report))
    for level in ("error", "warning"):
        for finding in _of_level(report, level):
            _print_finding(console, finding)
    _print_section(console, "models", _models(report))
    if report.memory is not None:
        _print_memory(console, report, report.memory)
    if report.prediction is not None:
        _print_section(console, "speed", _speed(report.prediction))
    notes = _of_level(report, "info")
    if notes:
        console.print(Text("\nnotes", style="bold"))
    for finding in notes:
        _print_finding(console, finding)


def print_verdict(report: PreflightReport, stream: TextIO) -> None:
    """The first line alone."""
    _console(stream).print(_verdict_line(report))


def _console(stream: TextIO) -> Console:
    """Rich leaves colours out when the stream is no terminal or `NO_COLOR` is set."""
    console = Console(file=stream, highlight=False, emoji=False, soft_wrap=False)
    console.width = (
        max(_NARROWEST, min(console.width, _WIDEST)) if console.is_terminal else _NO_TERMINAL_WIDTH
    )
    return console


def _verdict_line(report: PreflightReport) -> Text:
    errors, warnings = len(_of_level(report, "error")), len(_of_level(report, "warning"))
    pair = report.compatibility.draft is not None
    what = {
        "ok": "this pair will work" if pair else "this model will work",
        "warn": f"it will run; {_counted(warnings, 'thing')} to know",
        "fail": f"it will not work: {_counted(errors, 'reason')}",
    }[report.verdict]
    return Text.assemble((report.verdict.upper(), _STYLES[report.verdict]), f"  {what}")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _of_level(report: PreflightReport, level: Level) -> list[Finding]:
    return [finding for finding in report.findings if finding.level == level]


def _print_finding(console: Console, finding: Finding) -> None:
    """Level and code in words, then message and way out, each wrapped behind its indent."""
    console.print()
    console.print(Text.assemble((finding.level, _STYLES[finding.level]), (f" {finding.code}", "dim")))
    console.print(Padding(Text(finding.message), (0, 0, 0, 2), expand=False))
    if finding.hint:
        console.print(Padding(Text(f"hint: {finding.hint}", style="dim"), (0, 0, 0, 2), expand=False))


def _print_section(console: Console, title: str, content: Table | Text) -> None:
    console.print(Text(f"\n{title}", style="bold"))
    console.print(Padding(content, (0, 0, 0, 2), expand=False))


def _models(report: PreflightReport) -> Table:
    models = [report.compatibility.target]
    if report.compatibility.draft is not None:
        models.append(report.compatibility.draft)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    for _ in models:
        table.add_column(overflow="fold", ratio=1)
    table.add_row("", *(Text(role, style="dim") for role in ("target", "draft")[: len(models)]))
    for label, texts in (
        ("name", [display_name(model) for model in models]),
        ("architecture", [_architecture(model) for model in models]),
        ("quantization", [_quantization(model) for model in models]),
        ("weights", [file_size(model.weight_bytes) for model in models]),
        ("parameters", [_parameters(model.parameters) for model in models]),
        ("trained on", [_tokens(model.context_length) for model in models]),
        ("vocabulary", [_tokens(model.vocabulary_size) for model in models]),
    ):
        table.add_row(label, *(Text(text) for text in texts))
    return table


def _architecture(model: ModelSummary) -> str:
    layers = f", {model.layers} layers" if model.layers else ""
    experts = f", {model.experts} experts" if model.experts else ""
    return f"{model.architecture}{layers}{experts}"


def _quantization(model: ModelSummary) -> str:
    if model.bits_per_weight is None:
        return "no weights"
    return f"{model.quantization or 'unknown'}, {model.bits_per_weight:.1f} bits per weight"


def _parameters(count: int) -> str:
    return f"{count / 1e9:.1f} billion" if count >= 1e9 else f"{count / 1e6:.0f} million"


def _tokens(count: int | None) -> str:
    return "unknown" if count is None else f"{count} tokens"


def _print_memory(console: Console, report: PreflightReport, plan: MemoryPlan) -> None:
    _print_section(console, f"memory on {report.machine.name}, context {report.context}", _devices(plan))
    draft = plan.draft is not None
    largest = f"largest context: {_context(plan.max_context_without_draft)}"
    if draft:
        largest += f" without the draft, {_context(plan.max_context_with_draft)} with it"
    console.print(Padding(Text(largest), (0, 0, 0, 2), expand=False))


def _devices(plan: MemoryPlan) -> Table:
    """A row for each model on each device, then what that makes and what may be used."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", overflow="fold")
    for heading in ("weights", "KV cache", "compute", "total"):
        table.add_column(heading, justify="right", no_wrap=True)
    known = plan.unknown is None
    for device in plan.devices:
        if not device.required:
            continue
        table.add_row(Text(f"{device.device.name} ({device.device.kind})"))
        table.add_row("  target", *_sizes(device.target, known))
        if device.draft is not None:
            table.add_row("  draft", *_sizes(device.draft, known))
        table.add_row("  together", "", "", "", _total(device, known))
        table.add_row("  may use", "", "", "", human_size(device.device.usable))
    return table


def _sizes(parts: Parts, known: bool) -> list[str]:
    if not known:
        return [human_size(parts.weights), "unknown", "unknown", ""]
    return [human_size(size) for size in (parts.weights, parts.kv, parts.compute, parts.total)]


def _total(device: DevicePlan, known: bool) -> Text:
    text = human_size(device.required) if known else f"over {human_size(device.required)}"
    return Text(text) if device.fits else Text(f"{text}, does not fit", style=_STYLES["error"])


def _context(size: int | None) -> str:
    if size is None:
        return "unknown"
    return f"{size} tokens" if size else "none fits"


def _speed(prediction: Prediction) -> Text:
    """Each figure with whether it was measured, then what they come from."""
    lines = [f"plain        {prediction.plain_tps:.1f} tok/s, {_source(prediction.measured)}"]
    speculative, speedup = prediction.speculative_tps, prediction.speedup
    if speculative is not None and speedup is not None:
        lines.append(
            f"speculative  {speculative.text('.1f')} tok/s ({speedup.text('.2f')} times plain), "
            f"{_source(prediction.speedup_measured)}"
        )
    return Text("\n".join([*lines, prediction.basis]))


def _source(measured: bool) -> str:
    return "measured" if measured else "predicted"
