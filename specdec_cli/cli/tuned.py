"""Defaults that `specdec tune` found for this machine, put where the user gave none."""

from __future__ import annotations

from dataclasses import replace

from specdec_cli.cli.requests import EngineOptions
from specdec_cli.draft.catalog import DRAFTERS, drafter_kind
from specdec_cli.errors import UsageProblem
from specdec_cli.registry.catalog import load_catalog
from specdec_cli.registry.tuned import TunedSettings, load_tuned, pair_key
from specdec_cli.settings import DEFAULT_CONTEXT


def with_tuned_defaults(options: EngineOptions) -> tuple[EngineOptions, str | None]:
    """The options, completed, and a line that says what was filled in; unchanged where nothing is known.

    What was typed wins, and takes what hangs on it along: with a `--drafter` the tuned draft length does not
    apply, with `--threads` not the draft's threads. A drafter that no longer exists makes all of it void.
    """
    tuned = load_tuned(pair_key(options.pair, options.target, options.draft))
    if tuned is None or (tuned.drafter is not None and tuned.drafter not in DRAFTERS):
        return options, None
    completed = _completed(options, tuned)
    try:
        completed.validate()
    except UsageProblem:  # somebody edited the file, or typed what contradicts it
        return options, None
    if completed == options:
        return options, None
    return completed, f"as tuned for this machine: {_changes(options, completed)}"


def _completed(options: EngineOptions, tuned: TunedSettings) -> EngineOptions:
    filled = options
    if options.threads is None:
        filled = replace(filled, threads=tuned.threads)
    if options.kv_type == DEFAULT_CONTEXT.kv_type:
        filled = replace(filled, kv_type=tuned.kv_type or options.kv_type)
    wants_draft = any(
        value is not None
        for value in (options.draft_threads, options.draft_gpu_layers, options.draft_kv_type)
    )
    uses_draft = tuned.drafter is None or drafter_kind(tuned.drafter).uses_draft_model
    if not uses_draft and not wants_draft and options.drafter is None and options.draft_max is None:
        return replace(filled, drafter=tuned.drafter, draft_max=tuned.draft_max, draft=None)
    if uses_draft:
        filled = _with_draft(filled, options, tuned)
    return filled


def _with_draft(filled: EngineOptions, typed: EngineOptions, tuned: TunedSettings) -> EngineOptions:
    """What concerns drafting with a model, where the drafter that was typed, if any, does that."""
    if typed.drafter is None and typed.draft_max is None:
        filled = replace(filled, drafter=tuned.drafter, draft_max=tuned.draft_max)
    if filled.drafter is not None and not drafter_kind(filled.drafter).uses_draft_model:
        return filled
    if typed.threads is None and typed.draft_threads is None:
        filled = replace(filled, draft_threads=tuned.draft_threads)
    if typed.kv_type == DEFAULT_CONTEXT.kv_type and typed.draft_kv_type is None:
        filled = replace(filled, draft_kv_type=tuned.draft_kv_type)
    if tuned.draft is None or typed.draft is not None:
        return filled
    if filled.pair is None:
        return replace(filled, draft=tuned.draft)
    target = load_catalog().pair(filled.pair).target.label
    return replace(filled, pair=None, target=target, draft=tuned.draft)


def _changes(before: EngineOptions, after: EngineOptions) -> str:
    names = ("drafter", "draft_max", "threads", "draft_threads", "kv_type", "draft_kv_type", "draft")
    return ", ".join(
        f"{name.replace('_', '-')} {getattr(after, name)}"
        for name in names
        if getattr(after, name) != getattr(before, name)
    )
