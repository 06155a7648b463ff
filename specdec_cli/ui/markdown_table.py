"""A Markdown table, drawn when it is whole: its columns are as wide as their widest cell."""

from __future__ import annotations

import re

from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from specdec_cli.ui.inline_markdown import all_spans

_DELIMITER = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")


def is_table(lines: list[str]) -> bool:
    """Whether these lines, each beginning with a bar, make a table."""
    return len(lines) > 1 and _DELIMITER.fullmatch(lines[1]) is not None


def draw_table(console: Console, lines: list[str], width: int) -> None:
    """Print the table; cells wrap when it is wider than the terminal."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    marks = _cells(lines[1])
    header = _cells(lines[0])
    for index, cell in enumerate(header):
        mark = marks[index] if index < len(marks) else ""
        table.add_column(inline_text(cell), justify=_justify(mark), overflow="fold")
    for line in lines[2:]:
        cells = [inline_text(cell) for cell in _cells(line)][: len(header)]
        table.add_row(*cells)
    console.print(table, width=width)


def inline_text(line: str) -> Text:
    """A line with its emphasis, code and links."""
    text = Text()
    for span in all_spans(line):
        text.append(span.text, style=span.style)
    return text


def _cells(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)]


def _justify(mark: str) -> JustifyMethod:
    if mark.endswith(":"):
        return "center" if mark.startswith(":") else "right"
    return "left"
