"""`specdec run`: one generation; standard output is the text and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from specdec_cli.cli import options
from specdec_cli.cli.environment import Environment
from specdec_cli.settings import DEFAULT_CONTEXT, DEFAULT_SAMPLING


def run(
    context: typer.Context,
    prompt: Annotated[
        str | None, typer.Argument(help="The prompt; `-` or nothing reads standard input.")
    ] = None,
    pair: options.Pair = None,
    target: options.Target = None,
    draft: options.Draft = None,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="Read the prompt from a file.")] = None,
    system: Annotated[str | None, typer.Option("--system", help="System message.")] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Send the prompt as it is, without a chat template.")
    ] = False,
    max_tokens: options.MaxTokens = options.MAX_TOKENS,
    ctx: options.ContextSize = None,
    temp: options.Temperature = options.TEMPERATURE,
    top_k: options.TopK = DEFAULT_SAMPLING.top_k,
    top_p: options.TopP = DEFAULT_SAMPLING.top_p,
    min_p: options.MinP = DEFAULT_SAMPLING.min_p,
    typical_p: options.TypicalP = DEFAULT_SAMPLING.typical_p,
    repeat_penalty: options.RepeatPenalty = DEFAULT_SAMPLING.repeat_penalty,
    frequency_penalty: options.FrequencyPenalty = DEFAULT_SAMPLING.frequency_penalty,
    presence_penalty: options.PresencePenalty = DEFAULT_SAMPLING.presence_penalty,
    penalty_last_n: options.PenaltyLastN = DEFAULT_SAMPLING.penalty_last_n,
    dry_multiplier: options.DryMultiplier = DEFAULT_SAMPLING.dry_multiplier,
    dry_base: options.DryBase = DEFAULT_SAMPLING.dry_base,
    dry_allowed_length: options.DryAllowedLength = DEFAULT_SAMPLING.dry_allowed_length,
    dry_last_n: options.DryLastN = DEFAULT_SAMPLING.dry_penalty_last_n,
    xtc_probability: options.XtcProbability = DEFAULT_SAMPLING.xtc_probability,
    xtc_threshold: options.XtcThreshold = DEFAULT_SAMPLING.xtc_threshold,
    logit_bias: options.LogitBias = None,
    seed: options.Seed = None,
    stop: options.Stop = None,
    grammar: options.Grammar = None,
    json_schema: options.JsonSchema = None,
    drafter: options.DrafterName = None,
    draft_max: options.DraftMax = None,
    accept: options.Accept = None,
    threads: options.Threads = None,
    draft_threads: options.DraftThreads = None,
    gpu_layers: options.GpuLayers = None,
    draft_gpu_layers: options.DraftGpuLayers = None,
    kv_type: options.KvTypeName = DEFAULT_CONTEXT.kv_type,
    draft_kv_type: options.DraftKvTypeName = None,
    flash_attn: options.FlashAttentionMode = DEFAULT_CONTEXT.flash_attention,
    show_accepted: Annotated[
        bool, typer.Option("--show-accepted", help="Make text from accepted draft tokens stand out.")
    ] = False,
    offline: options.Offline = False,
    force: options.Force = False,
    json: options.Json = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> int:
    """Generate one answer to PROMPT, streamed to standard output."""
    from specdec_cli.cli.grammar_input import read_grammar
    from specdec_cli.cli.prompt_input import prompt_is_stdin, read_prompt
    from specdec_cli.cli.requests import EngineOptions, OutputOptions, SamplingOptions
    from specdec_cli.cli.run_service import run_once

    environment: Environment = replace(context.obj, offline=offline)
    output = OutputOptions(json=json, show_accepted=show_accepted, verbose=verbose, quiet=quiet)
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
        draft_kv_type=draft_kv_type,
        flash_attn=flash_attn,
    )
    sampling_options = SamplingOptions(
        temp=temp,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        typical_p=typical_p,
        repeat_penalty=repeat_penalty,
        frequency_penalty=frequency_penalty,
        presence_penalty=presence_penalty,
        penalty_last_n=penalty_last_n,
        dry_multiplier=dry_multiplier,
        dry_base=dry_base,
        dry_allowed_length=dry_allowed_length,
        dry_last_n=dry_last_n,
        xtc_probability=xtc_probability,
        xtc_threshold=xtc_threshold,
        logit_bias=tuple(logit_bias or ()),
        seed=seed,
    )
    output.validate()
    engine_options.validate()
    if raw and system is not None:
        from specdec_cli.errors import UsageProblem

        raise UsageProblem(
            "--raw sends no chat template, so --system has no place", hint="leave out one of them"
        )
    return run_once(
        environment,
        engine_options,
        sampling_options.settings(),
        options.generation_settings(max_tokens, stop),
        output,
        prompt=read_prompt(prompt, file, environment),
        system=system,
        raw=raw,
        grammar=read_grammar(
            grammar, json_schema, environment, prompt_is_stdin=prompt_is_stdin(prompt, file)
        ),
        force=force,
    )
