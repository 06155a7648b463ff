"""What a terminal of a given width would show, for the few control sequences that specdec uses."""

from __future__ import annotations

import re

_SEQUENCE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


def screen(output: str, columns: int = 80) -> list[str]:
    """The lines after `output` was written to an endless terminal; styles are left out."""
    rows: list[list[str]] = [[]]
    row = column = 0
    position = 0
    while position < len(output):
        found = _SEQUENCE.match(output, position)
        if found:
            position = found.end()
            count, letter = found[1], found[2]
            if letter == "A":
                row = max(0, row - int(count or 1))
            elif letter == "J":
                del rows[row + 1 :]
                del rows[row][column:]
            elif letter == "K":
                rows[row] = [] if count == "2" else rows[row][:column]
            else:
                assert letter in "mh", found[0]
            continue
        character = output[position]
        position += 1
        if character == "\n":
            row, column = row + 1, 0
        elif character == "\r":
            column = 0
            continue
        else:
            assert character >= " ", repr(character)
            if column >= columns:
                row, column = row + 1, 0
            while len(rows) <= row:
                rows.append([])
            line = rows[row]
            line.extend(" " * (column - len(line)))
            line[column : column + 1] = [character]
            column += 1
        while len(rows) <= row:
            rows.append([])
    return ["".join(line).rstrip() for line in rows]
