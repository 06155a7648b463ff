"""From what was typed to settings: values out of range and options that contradict each other are errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

from specdec_cli.cli.sampling_options import SamplingOptions
from specdec_cli.draft.catalog import PLAIN, drafter_kind
from specdec_cli.errors import UsageProblem
from specdec_cli.settings import (
    DEFAULT_CONTEXT,
    DEFAULT_DRAFT,
    AcceptRule,
    ContextSettings,
    DraftSettings,
    FlashAttention,
    KvType,
)

_FLOAT_KV_TYPES = ("f32", "f16", "bf16")
_MOST_THREADS = 512
_LARGEST_CONTEXT = 1 << 24
_LONGEST_DRAFT = 64


__all__ = ["EngineOptions", "OutputOptions", "SamplingOptions"]


@dataclass(frozen=True)
class OutputOptions:
    """What is printed and how."""

    json: bool = False
    show_accepted: bool = False
    verbose: bool = False
    quiet: bool = False

    def validate(self) -> None:
        """Raise `UsageProblem` for what contradicts itself."""
        if self.verbose and self.quiet:
            raise UsageProblem("-v and -q contradict each other")
        if self.json and self.show_accepted:
            raise UsageProblem("--show-accepted marks streamed text, --json streams none")


@dataclass(frozen=True)
class EngineOptions:
    """Models, drafter and placement as typed; None is "not given"."""

    pair: str | None = None
    target: str | None = None
    draft: str | None = None
    ctx: int | None = None
    drafter: str | None = None
    draft_max: int | None = None
    accept: str | None = None
    threads: int | None = None
    draft_threads: int | None = None
    gpu_layers: int | None = None
    draft_gpu_layers: int | None = None
    kv_type: str = DEFAULT_CONTEXT.kv_type
    draft_kv_type: str | None = None
    flash_attn: str = DEFAULT_CONTEXT.flash_attention
    batch: int = DEFAULT_CONTEXT.n_batch
    """Tokens of one native decode; no option of the command line."""

    def validate(self) -> None:
        """Raise `UsageProblem` for the first thing that is out of range or contradicts another."""
        _check_range("--ctx", self.ctx, 8, _LARGEST_CONTEXT)
        _check_range("--draft-max", self.draft_max, 1, _LONGEST_DRAFT)
        _check_range("--threads", self.threads, 1, _MOST_THREADS)
        _check_range("--draft-threads", self.draft_threads, 1, _MOST_THREADS)
        _check_range("--gpu-layers", self.gpu_layers, -1, 10_000)
        _check_range("--draft-gpu-layers", self.draft_gpu_layers, -1, 10_000)
        if self.accept is not None:
            _check_choice("--accept", self.accept, get_args(AcceptRule))
        _check_choice("--kv-type", self.kv_type, get_args(KvType))
        if self.draft_kv_type is not None:
            _check_choice("--draft-kv-type", self.draft_kv_type, get_args(KvType))
        _check_choice("--flash-attn", self.flash_attn, get_args(FlashAttention))
        for name, kind in (("--kv-type", self.kv_type), ("--draft-kv-type", self.draft_kv_type)):
            if kind is not None and kind not in _FLOAT_KV_TYPES and self.flash_attn == "off":
                raise UsageProblem(
                    f"{name} {kind} needs flash attention, and --flash-attn is off",
                    hint=f"use --flash-attn auto, or {name} f16",
                )
        self._check_models()

    def _check_models(self) -> None:
        if self.pair is not None and (self.target is not None or self.draft is not None):
            raise UsageProblem(
                "--pair already names target and draft", hint="give --pair, or --target and --draft"
            )
        if self.draft is not None and self.target is None:
            raise UsageProblem("--draft needs a --target to draft for")
        if self.drafter is None:
            return
        kind = drafter_kind(self.drafter)
        if not kind.speculates:
            for name, given in (("--draft-max", self.draft_max), ("--accept", self.accept)):
                if given is not None:
                    raise UsageProblem(f"--drafter {self.drafter} drafts nothing, so {name} has no use")
        if kind.uses_draft_model:
            if kind.needs.own_context and self.target is not None and self.draft is None:
                raise UsageProblem(f"--drafter {self.drafter} needs a --draft")
            return
        for name, value in (
            ("--draft", self.draft),
            ("--draft-threads", self.draft_threads),
            ("--draft-gpu-layers", self.draft_gpu_layers),
            ("--draft-kv-type", self.draft_kv_type),
        ):
            if value is not None:
                raise UsageProblem(f"--drafter {self.drafter} uses no draft model, so {name} has no use")

    def drafting(self) -> DraftSettings:
        """The drafter asked for, else the one that decides for itself; its usual length unless one was given."""
        name = self.drafter if self.drafter is not None else DEFAULT_DRAFT.drafter
        longest = self.draft_max if self.draft_max is not None else drafter_kind(name).draft_max
        accept = next((rule for rule in get_args(AcceptRule) if rule == self.accept), DEFAULT_DRAFT.accept)
        return DraftSettings(drafter=name, draft_max=longest, accept=accept)

    def off_reason(self) -> str:
        """Why nothing speculates, when nothing does."""
        return f"--drafter {PLAIN}" if self.drafter == PLAIN else "no drafter"

    def context_settings(self, default_threads: int) -> tuple[ContextSettings, ContextSettings]:
        """Settings of the target's and the draft's context: the same unless the draft has its own."""
        target = ContextSettings(
            n_ctx=self.ctx if self.ctx is not None else DEFAULT_CONTEXT.n_ctx,
            n_batch=self.batch,
            threads=self.threads or default_threads,
            gpu_layers=self.gpu_layers if self.gpu_layers is not None else DEFAULT_CONTEXT.gpu_layers,
            kv_type=_kv_type(self.kv_type),
            flash_attention=next(mode for mode in get_args(FlashAttention) if mode == self.flash_attn),
        )
        layers = self.draft_gpu_layers if self.draft_gpu_layers is not None else DEFAULT_CONTEXT.gpu_layers
        return target, replace(
            target,
            threads=self.draft_threads or self.threads or default_threads,
            gpu_layers=layers,
            kv_type=_kv_type(self.draft_kv_type or self.kv_type),
            memory_map=False,
        )


def _kv_type(name: str) -> KvType:
    """A name that was checked."""
    kinds: tuple[KvType, ...] = get_args(KvType)
    return next(kind for kind in kinds if kind == name)


def _check_range(option: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise UsageProblem(f"{option} {value}: must be from {least} to {most}")


def _check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageProblem(f"{option} {value}: there is no such choice", hint="one of " + ", ".join(choices))
