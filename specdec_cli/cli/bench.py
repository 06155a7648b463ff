"""`specdec bench`: plain against speculative decoding, paired, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specdec_cli.cli import options
from specdec_cli.cli.environment import Environment
from specdec_cli.settings import DEFAULT_BENCH, DEFAULT_CONTEXT


def bench(
    context: typer.Context,
    pair: options.Pair = None,
    target: options.Target = None,
    draft: options.Draft = None,
    tasks: Annotated[
        str | None,
        typer.Option("--tasks", help="Some of code,chat,edit,summarize,json,creative [default: all]"),
    ] = None,
    runs: Annotated[
        int | None, typer.Option("--runs", help=f"Prompts per task, each new [default: {DEFAULT_BENCH.runs}]")
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "-n", "--max-tokens", help=f"Most tokens of an answer [default: {DEFAULT_BENCH.max_tokens}]"
        ),
    ] = None,
    drafters: Annotated[
        str | None,
        typer.Option(
            "--drafters",
            help="What to compare with plain decoding: NAME, NAME:LENGTH or NAME:FROM-TO, separated by commas "
            "[default: all of them]",
        ),
    ] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Only measure what a decode of n tokens costs, and plot it.")
    ] = False,
    json: Annotated[
        Path | None, typer.Option("--json", help="Write the report as JSON; `-` is standard output.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the report as one HTML page with charts.")
    ] = None,
    rounds: Annotated[
        Path | None, typer.Option("--rounds", help="Write every round as a line of JSON.")
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
    """Measure what speculation gains on this machine."""
    from specdec_cli.cli.bench_options import BenchOptions
    from specdec_cli.cli.bench_service import run_bench_command
    from specdec_cli.cli.requests import EngineOptions

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
    bench_options = BenchOptions(
        tasks=tasks,
        runs=runs,
        max_tokens=max_tokens,
        drafters=drafters,
        profile=profile,
        json=json,
        html=html,
        rounds=rounds,
        quiet=quiet,
        force=force,
    )
    engine_options.validate()
    bench_options.validate()
    return run_bench_command(environment, engine_options, bench_options)
