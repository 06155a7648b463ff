"""Lines of earlier chats, for the arrow keys. Losing them is never a reason to stop."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from prompt_toolkit.history import FileHistory

from specdec_cli.chat.pasting import has_mark

_MOST_LINES = 2000
_LONGEST = 20_000


class KeptHistory(FileHistory):
    """A history file that may be missing, unwritable or full; long pastes are not kept."""

    def __init__(self, path: Path) -> None:
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(str(path))

    def load_history_strings(self) -> Iterable[str]:
        """The last lines, the newest first."""
        try:
            return list(islice(super().load_history_strings(), _MOST_LINES))
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Append one."""
        if len(string) <= _LONGEST and not has_mark(string):
            with contextlib.suppress(OSError, UnicodeError):
                super().store_string(string)
