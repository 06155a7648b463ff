"""`specdec list` and `specdec remove`: what is here, and making room."""

from __future__ import annotations

from typing import Annotated

import typer

from specdec_cli.cli import options
from specdec_cli.cli.environment import Environment


def list_models(
    context: typer.Context,
    all_models: Annotated[
        bool, typer.Option("--all", help="Also every GGUF model that other tools have here.")
    ] = False,
    json: options.Json = False,
) -> int:
    """List the pairs and models that are here.

    With sizes, whether they fit this machine, and when they were last used.
    """
    from specdec_cli.cli.listing_service import run_list

    environment: Environment = context.obj
    return run_list(environment, all_models=all_models, json=json)


def remove_models(
    context: typer.Context,
    names: Annotated[
        list[str], typer.Argument(metavar="PAIR|MODEL…", help="What to remove, as `specdec list` names it.")
    ],
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also files that another tool has fetched.")] = False,
) -> int:
    """Delete models; what others need is kept."""
    from specdec_cli.cli.listing_service import run_remove

    environment: Environment = context.obj
    return run_remove(environment, names, yes=yes, force=force)
