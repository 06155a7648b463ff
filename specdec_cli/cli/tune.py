"""`specdec tune`: the best settings of a pair on this machine, stored as its defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specdec_cli.cli import options
from specdec_cli.cli.environment import Environment
from specdec_cli.settings import DEFAULT_CONTEXT, DEFAULT_TUNE


def tune(
    context: typer.Context,
    pair: options.Pair = None,
    target: options.Target = None,
    draft: options.Draft = None,
    tasks: Annotated[
        str, typer.Option("--tasks", help="Some of code,chat,edit,summarize,json,creative.")
    ] = ",".join(DEFAULT_TUNE.tasks),
    runs: Annotated[
        int, typer.Option("--runs", help="Prompts per task for each question.")
    ] = DEFAULT_TUNE.runs,
    max_tokens: Annotated[
        int, typer.Option("-n", "--max-tokens", help="Most tokens of an answer.")
    ] = DEFAULT_TUNE.max_tokens,
    lossy_kv: Annotated[
        bool,
        typer.Option(
            "--lossy-kv", help="Also try a quantized KV cache for the target, which changes its answers."
        ),
    ] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Drop what was stored for these models.")] = False,
    json: Annotated[
        Path | None, typer.Option("--json", help="Write the report as JSON; `-` is standard output.")
    ] = None,
    ctx: options.ContextSize = None,
    draft_max: options.DraftMax = None,
    threads: options.Threads = None,
    draft_threads: options.DraftThreads = None,
    gpu_layers: options.GpuLayers = None,
    draft_gpu_layers: options.DraftGpuLayers = None,
    kv_type: options.KvTypeName = DEFAULT_CONTEXT.kv_type,
    draft_kv_type: options.DraftKvTypeName = None,
    flash_attn: options.FlashAttentionMode = DEFAULT_CONTEXT.flash_attention,
    force: options.Force = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress, only the report.")] = False,
) -> int:
    """Find the fastest settings of a pair here and keep them.

    What is given as an option is not tuned. Drafts of the pair's family are tried as far as they are on this machine.
    """
    from specdec_cli.cli.requests import EngineOptions
    from specdec_cli.cli.tune_service import TuneOptions, run_tune

    environment: Environment = context.obj
    engine_options = EngineOptions(
        pair=pair,
        target=target,
        draft=draft,
        ctx=ctx,
        draft_max=draft_max,
        threads=threads,
        draft_threads=draft_threads,
        gpu_layers=gpu_layers,
        draft_gpu_layers=draft_gpu_layers,
        kv_type=kv_type,
        draft_kv_type=draft_kv_type,
        flash_attn=flash_attn,
    )
    tune_options = TuneOptions(
        tasks=tasks,
        runs=runs,
        max_tokens=max_tokens,
        lossy_kv=lossy_kv,
        forget=forget,
        json=json,
        quiet=quiet,
        force=force,
    )
    engine_options.validate()
    tune_options.validate(engine_options)
    return run_tune(environment, engine_options, tune_options)
