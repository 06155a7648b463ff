"""`specdec verify` for people: the verdict, then what was compared, then the differences. 80 columns."""

from __future__ import annotations

from math import isfinite
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from specdec_cli.proof.report import (
    FALSE_ALARM_RATE,
    LOGIT_TOLERANCE,
    Difference,
    ProofReport,
    SampledReport,
    ShownToken,
    Verdict,
)

_WIDTH = 80
_STYLES: dict[Verdict, str] = {"identical": "bold green", "tie": "bold yellow", "different": "bold red"}
_SHOWN_DIFFERENCES = 3


def print_proof(report: ProofReport, stream: TextIO) -> None:
    """The whole report."""
    console = _console(stream)
    console.print(_verdict_line(report))
    console.print()
    console.print(Padding(_parts(report), (0, 0, 0, 2), expand=False))
    for difference in report.differences[:_SHOWN_DIFFERENCES]:
        console.print()
        console.print(Padding(_difference(difference), (0, 0, 0, 2), expand=False))
    hidden = len(report.differences) - _SHOWN_DIFFERENCES
    if hidden > 0:
        console.print(Text(f"\n  and {hidden} more: --json lists them all", style="dim"))
    console.print()
    for note in _notes(report):
        console.print(Padding(Text(note, style="dim"), (0, 0, 0, 2), expand=False))


def print_proof_verdict(report: ProofReport, stream: TextIO) -> None:
    """The first line alone."""
    _console(stream).print(_verdict_line(report))


def _console(stream: TextIO) -> Console:
    """Rich leaves colours out when the stream is no terminal or `NO_COLOR` is set."""
    console = Console(file=stream, highlight=False, emoji=False, soft_wrap=False)
    console.width = min(console.width, _WIDTH) if console.is_terminal else _WIDTH
    return console


def _verdict_line(report: ProofReport) -> Text:
    verdict = report.verdict
    if verdict == "identical":
        what = "drafted answers are plain decoding's, token for token"
    elif verdict == "tie":
        count = len(report.differences)
        ties = "1 tie" if count == 1 else f"{count} ties"
        what = f"drafted answers are plain decoding's, but for {ties} between equal logits"
    else:
        parts = {
            "greedy": report.greedy.verdict,
            "same seed": report.same_seed.verdict,
            "sampled": "identical" if report.sampled is None else report.sampled.verdict,
            "rollback": report.rollback.verdict,
        }
        failed = ", ".join(part for part, verdict in parts.items() if verdict == "different")
        what = f"not what plain decoding gives: {failed}"
    return Text.assemble((verdict.upper(), _STYLES[verdict]), f"  {what}")


def _parts(report: ProofReport) -> Table:
    greedy, same_seed, rollback = report.greedy, report.same_seed, report.rollback
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")

    def add(part: str, verdict: Verdict, *lines: str) -> None:
        table.add_row(part, Text(verdict, style=_STYLES[verdict]), Text("\n".join(lines)))

    add(
        "greedy",
        greedy.verdict,
        f"{greedy.prompts - len(greedy.differences)} of {greedy.prompts} answers the same, "
        f"{greedy.tokens} tokens",
        f"{greedy.accepted} of {greedy.drafted} drafted tokens accepted",
    )
    add(
        "same seed",
        same_seed.verdict,
        f"{same_seed.answers} answers at temperature 1 under match, each drafted twice",
    )
    if report.sampled is not None:
        add("sampled", report.sampled.verdict, *_sampled(report.sampled))
    most = max(case.rejected for case in rollback.cases)
    change = rollback.largest.change
    models = " and ".join(dict.fromkeys(case.model for case in rollback.cases))
    add(
        "rollback",
        rollback.verdict,
        f"1 to {most} rejected tokens in {models}: "
        + (f"logits change by up to {_number(change)}" if change else "no logit changes"),
    )
    return table


def _sampled(sampled: SampledReport) -> list[str]:
    asked = f"{sampled.samples} answers each way to {sampled.prompts} prompts at temperature 1"
    compared = f"under {sampled.rule}, their first {sampled.first_tokens} tokens: p = {sampled.p_value:.2g}"
    lines = [f"{asked} {compared}"]
    if not sampled.drafted:
        lines.append("the drafter offered nothing so early: this part proves little")
    largest = sampled.largest
    if sampled.verdict == "different" and largest is not None:
        token = "rare tokens" if largest.token is None else _quoted(largest.token)
        lines.append(
            f"prompt {largest.prompt}, token {largest.position}: {token} in {largest.plain_share:.0%} "
            f"of plain answers and {largest.drafted_share:.0%} of drafted ones"
        )
    return lines


def _difference(difference: Difference) -> Table:
    seed = "" if difference.seed is None else f", seed {difference.seed}"
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(
        Text(difference.verdict, style=_STYLES[difference.verdict]),
        Text(
            f"prompt {difference.prompt} ({difference.kind}{seed}), token {difference.position}, "
            f"after {difference.before!r}"
        ),
    )
    table.add_row(Text("plain", style="dim"), Text(_quoted(difference.expected)))
    table.add_row(Text("drafted", style="dim"), Text(_quoted(difference.found)))
    table.add_row(Text("gap", style="dim"), Text(f"{_number(difference.gap)} between their logits"))
    return table


def _quoted(token: ShownToken | None) -> str:
    return "nothing, the answer had ended" if token is None else f"{token.text!r} ({token.id})"


def _number(value: float) -> str:
    return f"{value:.2g}" if isfinite(value) else "infinity"


def _notes(report: ProofReport) -> list[str]:
    rows = f"2 to {report.draft_max + 1} rows at once instead of one"
    tie = f"tie: logits closer than {_number(report.tie_threshold)}"
    if report.noise:
        noise = _number(report.noise)
        tie += f"; decoding {rows} moves likely tokens by up to {noise} against each other on this machine."
    else:
        tie += f"; decoding {rows} moves no logit on this machine."
    notes = [tie]
    if report.sampled is not None:
        notes.append(
            f"sampled: different at p ≤ {FALSE_ALARM_RATE:g}; of {round(1 / FALSE_ALARM_RATE)} lossless "
            "pairs, one is accused."
        )
    notes.append(
        f"rollback: against a context that never saw the rejected tokens; up to {LOGIT_TOLERANCE:g} is the same."
    )
    return notes
