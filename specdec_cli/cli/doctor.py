"""`specdec doctor`: what hardware, what backend, what build, what is missing."""

from __future__ import annotations

import typer

from specdec_cli.cli import options
from specdec_cli.cli.environment import Environment


def doctor(context: typer.Context, json: options.Json = False) -> int:
    """Show this machine as specdec sees it, and what is missing."""
    from specdec_cli.cli.doctor_service import run_doctor

    environment: Environment = context.obj
    return run_doctor(environment, as_json=json)
