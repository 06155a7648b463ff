"""`specdec pull`: models of the Hub, checked first, resumed, verified."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specdec_cli.cli import options
from specdec_cli.cli.environment import Environment


def pull(
    context: typer.Context,
    references: Annotated[
        list[str],
        typer.Argument(
            metavar="PAIR|MODEL…",
            help="A pair by its name (`gemma3-12b`, `gemma3-12b:Q8_0`), or models as owner/repo:QUANT or "
            "owner/repo/file.gguf.",
        ),
    ],
    directory: Annotated[
        Path | None,
        typer.Option("--dir", help="Put the files into this folder instead of the Hub's cache."),
    ] = None,
    ctx: options.ContextSize = None,
    force: Annotated[
        bool, typer.Option("--force", help="Download in spite of what the check found.")
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not use the network; what is cached is enough or it fails.")
    ] = False,
    json: options.Json = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no summary.")] = False,
) -> int:
    """Download models, checked by their headers.

    Interrupted downloads resume; sizes and hashes are verified.
    """
    from specdec_cli.cli.pull_service import PullOptions, pull_models

    environment: Environment = context.obj
    pull_options = PullOptions(
        directory=directory, ctx=ctx, force=force, offline=offline, json=json, quiet=quiet
    )
    return pull_models(environment, references, pull_options)
