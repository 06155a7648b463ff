"""The table of commands. Only what was asked for is imported: each one is a light module, but there are many."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

COMMANDS: Mapping[str, str] = {
    "run": "run.run",
    "chat": "chat.chat",
    "check": "check.check",
    "verify": "verify.verify",
    "bench": "bench.bench",
    "tune": "tune.tune",
    "recommend": "recommend.recommend",
    "pull": "pull.pull",
    "list": "listing.list_models",
    "remove": "listing.remove_models",
    "doctor": "doctor.doctor",
}
"""Name → module of this folder and function in it, in the order `--help` lists them."""


def register_commands(app: typer.Typer, wanted: str | None) -> None:
    """Add the command called `wanted` to the program; every command where there is none of that name."""
    chosen = {wanted: COMMANDS[wanted]} if wanted is not None and wanted in COMMANDS else COMMANDS
    for name, place in chosen.items():
        module, _, function = place.partition(".")
        command = getattr(importlib.import_module(f"specdec_cli.cli.{module}"), function)
        app.command(name, cls=_Command)(_ends_quietly(command))


class Group(TyperGroup):
    """`specdec` itself."""

    def get_help_option(self, ctx: Any) -> Any:
        """As typer makes it, but off unless given."""
        return _off_unless_given(super().get_help_option(ctx))


class _Command(TyperCommand):
    def get_help_option(self, ctx: Any) -> Any:
        return _off_unless_given(super().get_help_option(ctx))


def _off_unless_given(help_option: Any) -> Any:
    """A `--help` that was not given is False rather than nothing.

    To convert nothing into a truth value typer loads pydantic, which took a third of the time of `list`.
    """
    if help_option is not None:
        help_option.default = False
    return help_option


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
