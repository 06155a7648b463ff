"""The table of commands: each one is a light module; what it needs is imported when it runs."""

from __future__ import annotations

import typer

from specdec_cli.cli import run


def register_commands(app: typer.Typer) -> None:
    """Add every command to the program, in the order `--help` lists them."""
    app.command("run")(run.run)
