"""Draw docs/run.svg: `specdec run` on the demo pair, in a real terminal of 80 columns, exported by rich.

python scripts/picture_of_a_run.py
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pexpect
from rich.console import Console
from rich.text import Text

COLUMNS = 80
PROMPT = "Write a Python function that reverses a string."
ARGUMENTS = ["run", "--pair", "demo", PROMPT, "-n", "120", "--drafter", "model", "--show-accepted"]
DESTINATION = Path(__file__).parents[1] / "docs" / "run.svg"


def record() -> str:
    """What the terminal shows, colours included, without what was drawn over."""
    seen = io.StringIO()
    child = pexpect.spawn(
        sys.executable,
        ["-m", "specdec_cli", *ARGUMENTS],
        dimensions=(40, COLUMNS),
        encoding="utf-8",
        timeout=300,
    )
    child.logfile_read = seen
    child.expect(pexpect.EOF)
    return seen.getvalue()


def final_screen(stream: str) -> str:
    """Progress lines are transient: what follows the last erased one is what stays."""
    erase, show_cursor = "\x1b[2K", "\x1b[?25h"
    text = stream.replace("\r\n", "\n").replace(show_cursor, "")
    return text[text.rfind(erase) + len(erase) :] if erase in text else text


def main() -> None:
    """Run, draw, write."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    shown = " ".join(f'"{word}"' if " " in word else word for word in ["specdec", *ARGUMENTS])
    console.print(Text(f"$ {shown}", style="bold"))
    console.print(Text.from_ansi(final_screen(record())))
    DESTINATION.write_text(console.export_svg(title="specdec"), encoding="utf-8")
    print(f"wrote {DESTINATION}")


if __name__ == "__main__":
    main()
