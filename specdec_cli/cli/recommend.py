"""`specdec recommend`: which pair for this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from specdec_cli.cli import options
from specdec_cli.cli.environment import Environment


def recommend(
    context: typer.Context,
    use: Annotated[str, typer.Option("--use", help="What for: code, chat or any.")] = "any",
    ctx: options.ContextSize = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine", help="For the machine described in this TOML file, or one of the examples."
        ),
    ] = None,
    json: options.Json = False,
) -> int:
    """Rank the known pairs for this machine.

    By what fits, how good its target is and how fast it will be.
    """
    from specdec_cli.cli.recommend_service import run_recommend

    environment: Environment = context.obj
    return run_recommend(environment, use=use, n_ctx=ctx, machine=machine, json=json)
