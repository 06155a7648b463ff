"""`exact_sizes` in a process of its own: a file that trips an assertion inside llama.cpp ends that one only."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from specdec_cli.errors import SpecdecError
from specdec_cli.llama.exact import ExactSizes, exact_sizes
from specdec_cli.settings import ContextSettings

_LIMIT_SECONDS = 120


def exact_sizes_apart(path: Path, settings: ContextSettings, max_rows: int) -> ExactSizes:
    """Like `exact_sizes`; a native crash becomes a `SpecdecError` too."""
    question = json.dumps({"path": str(path), "settings": asdict(settings), "max_rows": max_rows})
    try:
        done = subprocess.run(
            [sys.executable, "-m", "specdec_cli.llama.apart"],
            input=question,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SpecdecError(f"llama.cpp did not answer about {path.name} in {_LIMIT_SECONDS} s") from error
    if done.returncode != 0 or not done.stdout.strip():
        raise SpecdecError(
            f"llama.cpp crashed while it looked at {path.name} (exit status {done.returncode})",
            hint="the file would crash a run too; leave out --exact for an estimate",
            code="file.native_crash",
        )
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    if "error" in answer:
        raise SpecdecError(answer["error"], hint=answer["hint"], code=answer["code"])
    return ExactSizes(**answer)


def _answer() -> None:
    """The child: one question on stdin, one answer on stdout."""
    question = json.loads(sys.stdin.read())
    try:
        sizes = exact_sizes(
            Path(question["path"]), ContextSettings(**question["settings"]), question["max_rows"]
        )
        print(json.dumps(asdict(sizes)))
    except SpecdecError as error:
        print(json.dumps({"error": error.message, "hint": error.hint, "code": error.code}))


if __name__ == "__main__":
    _answer()
