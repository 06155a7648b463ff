"""Lines of a chat, as text: the figures after an answer, the context meter, a table of two columns."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len

_BAR_CELLS = 10


def figures_line(
    *,
    tokens: int,
    tokens_per_second: float,
    acceptance: float | None,
    gain: float | None,
    speculation: str,
    context: str,
) -> str:
    """What stands under an answer; parts that are not known are left out."""
    parts = [f"{tokens} token{'s' if tokens != 1 else ''}", f"{tokens_per_second:.1f} tok/s"]
    if acceptance is not None:
        parts.append(f"{acceptance:.0%} accepted")
    if gain is not None:
        parts.append(f"{gain:.2f}× plain")
    if acceptance is None:
        parts.append(speculation)
    parts.append(f"context {context}")
    return " · ".join(parts)


def meter_text(used: int, size: int) -> str:
    """`312/4096 (8%)`."""
    return f"{used}/{size} ({used / size:.0%})" if size else f"{used}"


def meter_bar(used: int, size: int) -> str:
    """Ten cells of which the used share is filled; readable without colour."""
    filled = min(_BAR_CELLS, round(_BAR_CELLS * used / size)) if size else 0
    return "▰" * filled + "▱" * (_BAR_CELLS - filled)


def two_columns(rows: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Names on the left, what they mean on the right, wrapped to the width."""
    rows = list(rows)
    left = min(max((cell_len(name) for name, _ in rows), default=0), max(width // 2, 10))
    lines = []
    for name, meaning in rows:
        room = max(width - left - 4, 20)
        first, *rest = wrapped(meaning, room) or [""]
        lines.append(f"  {name}{' ' * max(left - cell_len(name), 0)}  {first}".rstrip())
        lines += [f"  {' ' * left}  {line}" for line in rest]
    return lines


def visible(text: str) -> str:
    """The text with control characters shown as symbols: nothing a model says may steer the terminal."""
    return text.translate(_VISIBLE)


_VISIBLE: dict[int, int] = {
    **{code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)},
    0x7F: 0x2421,
    **dict.fromkeys(range(128, 160), 65533),
}


def wrapped(text: str, width: int) -> list[str]:
    """The words in lines no wider than `width` cells."""
    lines, line = [], ""
    for word in text.split():
        if line and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines
