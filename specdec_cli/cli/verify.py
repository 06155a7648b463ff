"""`specdec verify`: proves on this machine, for this pair, that drafts change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specdec_cli.cli import options
from specdec_cli.cli.environment import Environment
from specdec_cli.settings import DEFAULT_CONTEXT


def verify(
    context: typer.Context,
    pair: options.Pair = None,
    target: options.Target = None,
    draft: options.Draft = None,
    prompts: Annotated[
        Path | None,
        typer.Option("--prompts", help="Ask these prompts, one a line, instead of the 24 built-in ones."),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", help="Sampled answers to each prompt; 0 leaves that test out.")
    ] = 200,
    max_tokens: Annotated[
        int, typer.Option("-n", "--max-tokens", help="Most tokens of each greedy answer.")
    ] = 48,
    seed: Annotated[
        int, typer.Option("--seed", help="From which all chance follows: another one asks anew.")
    ] = 0,
    ctx: options.ContextSize = None,
    drafter: options.DrafterName = None,
    draft_max: options.DraftMax = None,
    accept: options.Accept = None,
    threads: options.Threads = None,
    draft_threads: options.DraftThreads = None,
    gpu_layers: options.GpuLayers = None,
    draft_gpu_layers: options.DraftGpuLayers = None,
    kv_type: options.KvTypeName = DEFAULT_CONTEXT.kv_type,
    flash_attn: options.FlashAttentionMode = DEFAULT_CONTEXT.flash_attention,
    force: options.Force = False,
    json: options.Json = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print the verdict and nothing else.")] = False,
) -> int:
    """Prove that drafts change no answer here.

    Greedy, with a seed, as a distribution, and after rollbacks; exit 1 where anything differs.
    """
    from specdec_cli.cli.requests import EngineOptions
    from specdec_cli.cli.verify_service import VerifyOptions, run_verify

    environment: Environment = context.obj
    engine_options = EngineOptions(
        pair=pair,
        target=target,
        draft=draft,
        ctx=ctx,
        drafter=drafter,
        draft_max=draft_max,
        accept=accept,
        threads=threads,
        draft_threads=draft_threads,
        gpu_layers=gpu_layers,
        draft_gpu_layers=draft_gpu_layers,
        kv_type=kv_type,
        flash_attn=flash_attn,
    )
    verify_options = VerifyOptions(
        prompts=prompts,
        samples=samples,
        max_tokens=max_tokens,
        seed=seed,
        force=force,
        json=json,
        quiet=quiet,
    )
    engine_options.validate()
    verify_options.validate()
    return run_verify(environment, engine_options, verify_options)
