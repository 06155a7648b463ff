"""Which pair `run` and `chat` take when nobody names a model."""

from __future__ import annotations

from dataclasses import replace

from specdec_cli.cli.environment import Environment
from specdec_cli.cli.machine import chosen_machine
from specdec_cli.cli.recommend_service import candidates
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.errors import SpecdecError
from specdec_cli.recommend import Recommendation, rank
from specdec_cli.registry.catalog import load_catalog
from specdec_cli.registry.remote_files import is_offline
from specdec_cli.registry.resolve import Folders
from specdec_cli.ui.console import Printer
from specdec_cli.ui.sizes import size_text

DEMO = "demo"


def with_a_model(options: EngineOptions, environment: Environment, printer: Printer) -> EngineOptions:
    """The options as they are when they name a model, else with the pair to use instead."""
    if options.pair is not None or options.target is not None:
        return options
    return replace(options, pair=default_pair(environment, printer, options.ctx))


def default_pair(environment: Environment, printer: Printer, n_ctx: int | None = None) -> str:
    """The name (`NAME` or `NAME:QUANT`) of the pair to use.

    The best one that is here and fits; else, unless offline, the recommended one, offered to whoever sits at the
    terminal and downloaded if wanted; else `demo`. Without a terminal nothing is downloaded: that is an error
    with the command.
    """
    machine = chosen_machine(environment, None).machine
    known = list(candidates(load_catalog(), Folders.default()))
    here = rank((c for c in known if c.here and c.pair.name != DEMO), machine, n_ctx=n_ctx)
    if here and here[0].fits:
        name = here[0].reference
        printer.line(f"no model named: using {name}, which is here", "dim")
        return name
    ranked = rank((c for c in known if c.pair.name != DEMO), machine, n_ctx=n_ctx)
    if ranked and ranked[0].fits and _wants(ranked[0], environment, printer):
        from specdec_cli.cli.pull_service import PullOptions, pull_models

        pull_models(environment, [ranked[0].reference], PullOptions(ctx=n_ctx))
        return ranked[0].reference
    printer.line(f"no model named: using {DEMO}, a very small one", "dim")
    return DEMO


def _wants(recommendation: Recommendation, environment: Environment, printer: Printer) -> bool:
    """Ask whether to download it."""
    name, size = recommendation.reference, recommendation.candidate.bytes_to_download
    how_much = f" ({size_text(size)})" if size else ""
    if not environment.stdin_is_terminal:
        raise SpecdecError(
            "no model named, and none of the known pairs is on this machine",
            hint=f"specdec pull {name}{how_much} fits it; --pair {DEMO} needs no download",
            code="file.not_here",
        )
    if is_offline(environment.offline):
        return False
    printer.console.print(
        f"No model is here yet. For this machine: {name}, {recommendation.why}", markup=False
    )
    printer.console.print(f"Download it now{how_much}? [y/N] ", end="", markup=False)
    return environment.stdin.readline().strip().lower() in (b"y", b"yes")
