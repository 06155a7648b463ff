"""`specdec chat`: a conversation in the terminal, with speculation visible and under control."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from specdec_cli.cli import options
from specdec_cli.cli.environment import Environment
from specdec_cli.settings import DEFAULT_CONTEXT, DEFAULT_SAMPLING

_MAX_TOKENS = 2048


def chat(
    context: typer.Context,
    pair: options.Pair = None,
    target: options.Target = None,
    draft: options.Draft = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the last conversation, also after a crash.")
    ] = False,
    session: Annotated[
        str | None, typer.Option("--session", help="Go on with the conversation of this name, or begin it.")
    ] = None,
    list_sessions: Annotated[bool, typer.Option("--list", help="List the saved conversations.")] = False,
    system: Annotated[str | None, typer.Option("--system", help="System prompt.")] = None,
    max_tokens: options.MaxTokens = _MAX_TOKENS,
    ctx: options.ContextSize = None,
    temp: options.Temperature = options.TEMPERATURE,
    top_k: options.TopK = DEFAULT_SAMPLING.top_k,
    top_p: options.TopP = DEFAULT_SAMPLING.top_p,
    min_p: options.MinP = DEFAULT_SAMPLING.min_p,
    repeat_penalty: options.RepeatPenalty = DEFAULT_SAMPLING.repeat_penalty,
    seed: options.Seed = None,
    stop: options.Stop = None,
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
    when_full: Annotated[
        str, typer.Option("--when-full", help="When the context is full: ask, drop, summarise or stop.")
    ] = "ask",
    plain: Annotated[
        bool, typer.Option("--plain", help="Answers as they are, not drawn as Markdown.")
    ] = False,
    offline: options.Offline = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> int:
    """Chat with a model; /help inside lists the commands. Each turn is saved.

    Without a terminal, every line of standard input is a message and standard output is the answers.
    """
    from specdec_cli.cli.chat_service import ChatOptions, open_chat, print_sessions
    from specdec_cli.cli.requests import EngineOptions, SamplingOptions

    environment: Environment = replace(context.obj, offline=offline)
    chat_options = ChatOptions(
        resume=resume,
        session=session,
        list_sessions=list_sessions,
        system=system,
        when_full=when_full,
        plain=plain,
        force=force,
        quiet=quiet,
        explicit=frozenset(
            name
            for name in context.params
            if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
        ),
    )
    chat_options.validate()
    if list_sessions:
        return print_sessions(environment)
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
    engine_options.validate()
    sampling = SamplingOptions(
        temp=temp, top_k=top_k, top_p=top_p, min_p=min_p, repeat_penalty=repeat_penalty, seed=seed
    )
    return open_chat(
        environment,
        engine_options,
        sampling.settings(),
        options.generation_settings(max_tokens, stop),
        chat_options,
    )
