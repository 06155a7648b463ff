"""`specdec bench --profile` for people: the cost curve as a table with bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from specdec_cli.bench.profile import ProfileRow
from specdec_cli.ui.bench_view import table_lines

_BAR = 16
_HEADS = ("tokens", "ms", "× one", "ms each", "model pays", "copy pays", "")


def print_profile(
    rows: Sequence[ProfileRow], draft: Sequence[tuple[int, float]], depth: int, stream: TextIO
) -> None:
    """`draft`: (tokens, seconds) of the draft's decodes; empty without a draft model."""
    bar = "█" if _can_print("█", stream) else "#"
    for line in profile_lines(rows, draft, depth, bar):
        stream.write(line + "\n")


def profile_lines(
    rows: Sequence[ProfileRow], draft: Sequence[tuple[int, float]], depth: int, bar: str = "█"
) -> Iterator[str]:
    """The lines of `print_profile`."""
    yield f"target: one decode of n tokens, {depth} tokens into the context"
    yield ""
    longest = max(row.seconds for row in rows)
    yield from table_lines(_HEADS, [_fields(row, bar * _length(row.seconds, longest)) for row in rows], 0)
    yield ""
    yield "pays: how often a drafted token must be right, on average, for a draft of n − 1"
    yield "tokens to be as fast as plain decoding; by the draft model, or copied for free"
    if draft:
        yield ""
        yield "draft: one decode of n tokens, output for the last"
        yield ""
        longest = max(seconds for _, seconds in draft)
        cells = [
            (
                str(tokens),
                f"{seconds * 1000:.2f}",
                f"{seconds / draft[0][1]:.2f}",
                (bar * _length(seconds, longest)).ljust(_BAR),
            )
            for tokens, seconds in draft
        ]
        yield from table_lines(("tokens", "ms", "× one", ""), cells, 0)


def _fields(row: ProfileRow, bar: str) -> tuple[str, ...]:
    return (
        str(row.rows),
        f"{row.seconds * 1000:.2f}",
        f"{row.relative:.2f}",
        f"{row.seconds * 1000 / row.rows:.2f}",
        _share(row.model_pays_from, row.rows),
        _share(row.copy_pays_from, row.rows),
        bar.ljust(_BAR),
    )


def _share(chance: float | None, rows: int) -> str:
    if rows == 1:
        return ""
    return "never" if chance is None else f"{chance:.0%}"


def _length(seconds: float, longest: float) -> int:
    return max(1, round(_BAR * seconds / longest))


def _can_print(text: str, stream: TextIO) -> bool:
    try:
        text.encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
