"""The table of commands: each one is a light module; what it needs is imported when it runs."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from specdec_cli.cli import bench, chat, check, doctor, listing, pull, recommend, run, tune, verify

COMMANDS: tuple[tuple[str, Callable[..., int]], ...] = (
    ("run", run.run),
    ("chat", chat.chat),
    ("check", check.check),
    ("verify", verify.verify),
    ("bench", bench.bench),
    ("tune", tune.tune),
    ("recommend", recommend.recommend),
    ("pull", pull.pull),
    ("list", listing.list_models),
    ("remove", listing.remove_models),
    ("doctor", doctor.doctor),
)
"""Name and function, in the order `--help` lists them."""


def register_commands(app: typer.Typer) -> None:
    """Add every command to the program."""
    for name, function in COMMANDS:
        app.command(name)(_ends_quietly(function))


def _ends_quietly(function: Callable[..., int]) -> Callable[..., int]:
    """A reader that has seen enough (`specdec … | head`) is no error; left to typer it would be exit code 1."""

    @functools.wraps(function)
    def guarded(*arguments: Any, **options: Any) -> int:
        try:
            return function(*arguments, **options)
        except BrokenPipeError:
            # Python flushes stdout once more when it exits, and would complain there.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
            return 0

    return guarded
