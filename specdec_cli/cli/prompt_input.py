"""Where the prompt comes from: the argument, a file, or standard input."""

from __future__ import annotations

from pathlib import Path

from specdec_cli.cli.environment import Environment
from specdec_cli.errors import SpecdecError, UsageProblem


def read_prompt(argument: str | None, file: Path | None, environment: Environment) -> str:
    """The prompt text; `-` means standard input. Raises when there is none, two, or it is not UTF-8 text."""
    if argument is not None and file is not None:
        raise UsageProblem("the prompt is given twice: as an argument and with -f", hint="give one of them")
    if file is not None:
        text = read_text(file, environment)
    elif argument is None or argument == "-":
        if argument is None and environment.stdin_is_terminal:
            raise UsageProblem("no prompt given", hint='specdec run "your prompt", -f FILE, or pipe one in')
        text = _read_stdin(environment)
    else:
        text = argument
    if not text.strip():
        raise UsageProblem("the prompt is empty")
    return text


def prompt_is_stdin(argument: str | None, file: Path | None) -> bool:
    """Whether the prompt is read from standard input."""
    return str(file) == "-" if file is not None else argument is None or argument == "-"


def read_text(file: Path, environment: Environment) -> str:
    """A file's text, or standard input's for `-`. Raises `SpecdecError` when it is not UTF-8 text."""
    return _read_stdin(environment) if str(file) == "-" else _decode(_read_file(file), str(file))


def _read_stdin(environment: Environment) -> str:
    return _decode(environment.stdin.read(), "standard input")


def _read_file(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SpecdecError(f"{file} cannot be read: {error.strerror or error}") from error


def _decode(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecdecError(
            f"{where} is not UTF-8 text: byte 0x{data[error.start]:02x} at offset {error.start}",
            hint="convert it to UTF-8 first",
        ) from error
