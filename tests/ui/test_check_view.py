"""`check` for people: verdict first, then what to do; 80 columns; colour is never the only signal."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from specdec_cli.findings import Finding
from specdec_cli.hardware.machine_file import load_machine
from specdec_cli.preflight import PreflightReport, PreflightRequest, preflight
from specdec_cli.settings import ContextSettings
from specdec_cli.speeds import MeasuredDrafting, MeasuredSpeed, Span
from specdec_cli.ui.check_view import print_check, print_verdict
from tests.support.headers import model_header
from tests.support.tiny_models import bpe_vocabulary

LAPTOP = load_machine("apple-24gb")


def report(name: str = "little", **draft: Any) -> PreflightReport:
    long_name = (
        "a model whose name is much longer than what fits into a column of a terminal of eighty columns"
    )
    return preflight(
        PreflightRequest(
            model_header(long_name, parameters=3e9, layers=32, context=8192),
            model_header(name, **{"parameters": 3e8, "layers": 24, "context": 8192, **draft}),
            LAPTOP,
        )
    )


def shown(result: PreflightReport, stream: io.StringIO | None = None) -> str:
    stream = stream or io.StringIO()
    print_check(result, stream)
    return stream.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_verdict_comes_first_then_findings_then_tables() -> None:
    text = shown(report(vocabulary=bpe_vocabulary(size=260)))
    lines = text.splitlines()
    assert lines[0] == "FAIL  it will not work: 1 reason"
    places = [text.index(part) for part in ("FAIL", "error vocab.", "hint: ", "models", "memory on", "speed")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("result", "first"),
    [
        (report(), "OK  this pair will work"),
        (report(parameters=8e8), "WARN  it will run; 1 thing to know"),
        (
            preflight(PreflightRequest(model_header("alone", parameters=1e8), None, LAPTOP)),
            "OK  this model will work",
        ),
    ],
    ids=["ok", "warn", "alone"],
)
def test_every_verdict_is_a_word(result: PreflightReport, first: str) -> None:
    assert shown(result).splitlines()[0] == first
    stream = io.StringIO()
    print_verdict(result, stream)
    assert stream.getvalue() == first + "\n"


def test_eighty_columns_and_no_escape_codes_where_there_is_no_terminal() -> None:
    for result in (report(), report(vocabulary=bpe_vocabulary(size=260)), report("x" * 200)):
        text = shown(result)
        assert max(map(len, text.splitlines())) <= 80
        assert "\x1b" not in text


def test_nothing_of_a_message_is_lost_by_wrapping() -> None:
    result = report(vocabulary=bpe_vocabulary(size=260))
    flowing = " ".join(shown(result).split())
    for finding in result.findings:
        assert " ".join(finding.message.split()) in flowing
        assert finding.code in flowing
        assert f"{finding.level} {finding.code}" in flowing


def test_colour_on_a_terminal_and_the_same_words_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    coloured = shown(report(), Terminal())
    assert "\x1b[1;32m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    plain = shown(report(), Terminal())
    assert "\x1b[1;32m" not in plain
    assert plain.splitlines()[0].endswith("this pair will work") or "OK" in plain


def test_names_from_a_file_are_no_markup() -> None:
    text = shown(report("[red]draft[/red] [/nonsense]"))
    assert "[red]draft[/red]" in " ".join(text.split())


def test_messages_are_no_markup() -> None:
    note = Finding("warning", "file.same", "a token called [/red] and [bold]", hint="[/nonsense]")
    text = shown(preflight(PreflightRequest(model_header("m", parameters=1e8), None, LAPTOP, notes=(note,))))
    assert "a token called [/red] and [bold]" in text
    assert "hint: [/nonsense]" in text


def test_memory_shows_both_models_their_sum_and_the_largest_contexts() -> None:
    text = shown(report())
    for part in ("target", "draft", "together", "may use", "without the draft", "with it"):
        assert part in text


def speed_lines(request: PreflightRequest) -> list[str]:
    """The section on speed, without its indent."""
    text = shown(preflight(request))
    assert max(map(len, text.splitlines())) <= 80
    section = text.partition("\nspeed\n")[2].partition("\n\n")[0]
    return [line.strip() for line in section.splitlines()]


def test_speeds_say_whether_they_were_measured() -> None:
    request = PreflightRequest(
        model_header("big", parameters=3e9, layers=32, context=8192),
        model_header("little", parameters=3e8, layers=24, context=8192),
        LAPTOP,
    )
    predicted = speed_lines(request)
    assert [line.endswith(", predicted") for line in predicted[:2]] == [True, True]
    assert "measured" not in " ".join(predicted)
    basis = "measured here in 12 runs, 11 of them with drafts, the last on 2026-11-29"
    plain = MeasuredSpeed(20.0, "measured here in 12 runs, the last on 2026-11-29")
    partly = speed_lines(replace(request, measured_speed=plain))
    assert partly[0] == "plain        20.0 tok/s, measured"
    assert partly[1].endswith(" times plain), predicted")
    drafting = MeasuredDrafting(Span(1030.0, 1044.0), Span(1.501, 1.502), basis)
    assert speed_lines(replace(request, measured_speed=replace(plain, drafting=drafting))) == [
        "plain        20.0 tok/s, measured",
        "speculative  1030.0 to 1044.0 tok/s (1.50 times plain), measured",
        basis,
    ]


def test_what_does_not_fit_says_so_in_the_table() -> None:
    huge = preflight(
        PreflightRequest(
            model_header("huge", parameters=30e9, layers=40, context=8192),
            None,
            LAPTOP,
            target_settings=ContextSettings(n_ctx=2048),
        )
    )
    text = shown(huge)
    assert "does not fit" in text
    assert "none fits" in text


def test_unknown_is_written_and_never_a_number() -> None:
    unknown = preflight(
        PreflightRequest(model_header("new", architecture="brand-new", parameters=1e9), None, LAPTOP)
    )
    text = shown(unknown)
    assert "unknown" in text
    assert "over 1.9 GiB" in text
