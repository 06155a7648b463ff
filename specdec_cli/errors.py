"""The errors a person may meet, and the exit code each one ends with.

Every error is one line; where there is a way out it carries a hint. Turned into stderr text and an exit
code in exactly one place, `specdec_cli.cli.main`.
"""

from __future__ import annotations


class SpecdecError(Exception):
    """Something the user can fix: a missing file, an incompatible pair, a refused download. Exit code 1."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code
        """The stable dotted finding code this error stands for, when it has one (`findings.py`)."""


class UsageProblem(SpecdecError):
    """The command line contradicts itself or holds a value out of range. Exit code 2."""

    exit_code = 2


class EngineFault(SpecdecError):
    """An invariant of ours does not hold: a bug, reported as such. Exit code 3."""

    exit_code = 3
