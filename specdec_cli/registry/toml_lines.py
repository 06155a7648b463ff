"""On which line each table and key of a TOML text begins, which `tomllib` does not tell.

Only what a registry file needs: `[table]`, `[[array of tables]]` and the keys directly under them. Strings
(all four kinds), comments and brackets that span lines are followed, so that nothing inside them is taken for
a key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADER = re.compile(r"\s*\[\[?\s*(?P<name>[^\]]+?)\s*\]\]?")
_KEY = re.compile(r"""\s*(?P<key>[A-Za-z0-9_-]+|"[^"]*"|'[^']*')\s*[.=]""")
_QUOTES = ('"""', "'''", '"', "'")


@dataclass(frozen=True)
class LineMap:
    """Lines (from 1) by (table name, index of the table among those of that name, key or None)."""

    lines: dict[tuple[str, int, str | None], int]

    def of(self, table: str, index: int = 0, key: str | None = None) -> int:
        """Line of a key; of its table where the key is not there; 1 where neither is."""
        return self.lines.get((table, index, key)) or self.lines.get((table, index, None)) or 1


def map_lines(text: str) -> LineMap:
    """Scan `text`, which `tomllib` has already accepted. Keys before the first table have table name ""."""
    lines: dict[tuple[str, int, str | None], int] = {}
    counts: dict[str, int] = {}
    table, index = "", 0
    scanner = _Scanner()
    for number, line in enumerate(text.splitlines(), start=1):
        if scanner.at_statement:
            if header := _HEADER.match(line):
                table = header["name"]
                index = counts.get(table, 0)
                counts[table] = index + 1
                lines[(table, index, None)] = number
                lines.setdefault((table.partition(".")[0], 0, None), number)
            elif key := _KEY.match(line):
                lines.setdefault((table, index, key["key"].strip("\"'")), number)
        scanner.feed(line)
    return LineMap(lines)


class _Scanner:
    """Follows strings and brackets from line to line."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""

    @property
    def at_statement(self) -> bool:
        return self._depth == 0 and not self._quote

    def feed(self, line: str) -> None:
        position = 0
        while position < len(line):
            if self._quote:
                position = self._inside_string(line, position)
                continue
            character = line[position]
            if character == "#":
                return
            opened = next((quote for quote in _QUOTES if line.startswith(quote, position)), "")
            if opened:
                self._quote = opened
                position += len(opened)
                continue
            self._depth += (character in "[{") - (character in "]}")
            position += 1

    def _inside_string(self, line: str, position: int) -> int:
        if line[position] == "\\" and self._quote[0] == '"':
            return position + 2
        if not line.startswith(self._quote, position):
            return position + 1
        position += len(self._quote)
        # A multi-line string may end in up to two quotes of its own: """a"""" holds a".
        while len(self._quote) == 3 and line.startswith(self._quote[0], position):
            position += 1
        self._quote = ""
        return position
