"""Run the real command line in this process: `result = run_cli("run", "--target", path, "hello")`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from specdec_cli.cli.environment import Environment
from specdec_cli.cli.main import main
from specdec_cli.protocols import Backend


@dataclass(frozen=True)
class CliResult:
    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.stdout.strip().splitlines()[-1])
        return document

    def refused(self, code: int, *words: str) -> None:
        """It ended with `code`, one error line holding `words`, at most one hint, and nothing on stdout."""
        assert self.code == code, self
        lines = [line for line in self.stderr.splitlines() if line]
        assert lines[0].startswith("error: "), self.stderr
        assert len(lines) <= 2, self.stderr
        assert all(line.startswith("hint: ") for line in lines[1:]), self.stderr
        assert "Traceback" not in self.stderr
        assert self.stdout == ""
        for word in words:
            assert word in self.stderr, self.stderr


def run_cli(
    *arguments: object, backend: Callable[[], Backend] | None = None, stdin: bytes = b""
) -> CliResult:
    stdout, stderr = io.StringIO(), io.StringIO()
    options: dict[str, Any] = {} if backend is None else {"open_backend": backend}
    environment = Environment(stdout=stdout, stderr=stderr, stdin=io.BytesIO(stdin), variables={}, **options)
    code = main([str(argument) for argument in arguments], environment)
    return CliResult(code, stdout.getvalue(), stderr.getvalue())
