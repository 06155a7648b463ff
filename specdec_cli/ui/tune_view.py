"""`specdec tune` for people: every question with its candidates, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from specdec_cli.bench.tuning import Question, TuneResult
from specdec_cli.registry.tuned import TunedSettings
from specdec_cli.ui.bench_view import ratio_text

_NOT_A_SETTING = ("speedup", "gain", "measured_at")


def print_tuning(
    result: TuneResult,
    stored: TunedSettings | None,
    stream: TextIO,
    *,
    file: Path | None = None,
    dropped: bool = False,
) -> None:
    """`dropped`: settings of an earlier tuning were removed, since they are no better than the defaults."""
    for question in result.questions:
        for line in _question_lines(question):
            stream.write(line + "\n")
        stream.write("\n")
    for line in _result_lines(result, stored, file, dropped):
        stream.write(line + "\n")


def _question_lines(question: Question) -> Iterator[str]:
    kept = question.chosen == question.in_use
    outcome = f"{question.in_use} stays" if kept else f"{question.in_use} → {question.chosen}"
    yield f"{question.name}: {outcome}"
    width = max(len(answer.label) for answer in question.answers)
    for answer in sorted(question.answers, key=lambda answer: -answer.ratio.value):
        mark = "*" if answer.label == question.chosen else " "
        yield f"  {mark} {answer.label.ljust(width)}  {ratio_text(answer.ratio)}"


def _result_lines(
    result: TuneResult, stored: TunedSettings | None, file: Path | None, dropped: bool
) -> Iterator[str]:
    found = result.best != result.defaults
    yield "on fresh prompts"
    yield f"  over plain decoding  {ratio_text(result.over_plain)}"
    if found:
        yield f"  over the defaults    {ratio_text(result.over_defaults)}"
    if stored is None:
        yield "no setting is surely faster here than the defaults: nothing is stored"
        if dropped:
            yield "what an earlier tuning had stored is removed"
        return
    values = asdict(stored)
    settings = (
        f"{name.replace('_', '-')} {value}"
        for name, value in values.items()
        if value is not None and name not in _NOT_A_SETTING
    )
    yield f"stored for this machine: {', '.join(settings)}"
    if stored.kv_type is not None:
        yield "not lossless: this cache changes the target's answers"
    yield f"  in {file}"
    yield "  specdec run uses it from now on; options win over it, --forget drops it"
