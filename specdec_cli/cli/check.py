"""`specdec check`: compatibility, memory and speed of a pair; loads nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from specdec_cli.cli import options
from specdec_cli.cli.environment import Environment
from specdec_cli.settings import DEFAULT_CONTEXT


def check(
    context: typer.Context,
    pair: options.Pair = None,
    target: options.Target = None,
    draft: options.Draft = None,
    ctx: options.ContextSize = None,
    draft_max: options.DraftMax = None,
    gpu_layers: options.GpuLayers = None,
    draft_gpu_layers: options.DraftGpuLayers = None,
    kv_type: options.KvTypeName = DEFAULT_CONTEXT.kv_type,
    draft_kv_type: options.DraftKvTypeName = None,
    flash_attn: options.FlashAttentionMode = DEFAULT_CONTEXT.flash_attention,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine", help="Plan for the machine described in this TOML file, or for one of the examples."
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Ask llama.cpp itself what the models take (files must be here).")
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not use the network; headers read earlier still serve.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for warnings too.")] = False,
    json: options.Json = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print the verdict and nothing else.")] = False,
) -> int:
    """Say whether a pair works, fits and pays.

    Compatibility, memory by device and speed, from headers alone; nothing is loaded. The speed is predicted until
    run, chat or bench have measured it here.
    """
    from specdec_cli.cli.check_service import CheckOptions, run_check
    from specdec_cli.cli.requests import EngineOptions

    environment: Environment = context.obj
    engine_options = EngineOptions(
        pair=pair,
        target=target,
        draft=draft,
        ctx=ctx,
        draft_max=draft_max,
        gpu_layers=gpu_layers,
        draft_gpu_layers=draft_gpu_layers,
        kv_type=kv_type,
        draft_kv_type=draft_kv_type,
        flash_attn=flash_attn,
    )
    check_options = CheckOptions(
        machine=machine, exact=exact, offline=offline, strict=strict, json=json, quiet=quiet
    )
    engine_options.validate()
    check_options.validate()
    return run_check(environment, engine_options, check_options)
