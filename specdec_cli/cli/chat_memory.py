"""When what a chat wants does not fit into memory: the nearest options that do, in the order of the memory plan."""

from __future__ import annotations

from dataclasses import replace

from specdec_cli.cli.models import ChosenModel, ChosenModels
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.hardware.values import Device, Machine
from specdec_cli.memory.plan import plan_memory
from specdec_cli.memory.read_shape import read_shape
from specdec_cli.memory.suggest import suggest
from specdec_cli.memory.wish import ModelWish
from specdec_cli.settings import ContextSettings

_SHRINK = 0.8
"""After a failed load: how much of what was planned is taken to be there."""


def options_that_fit(
    options: EngineOptions, models: ChosenModels, machine: Machine, *, failed: bool
) -> tuple[EngineOptions, str] | None:
    """Other options for the same target that fit, and how to say what is different; None when nothing does.

    `failed`: loading ran out of memory although the plan fitted; then less is taken to be free than the plan
    needed, so that the next suggestion is a smaller one.
    """
    target, draft = wishes_of(options, models)
    if target.shape.unknown or (draft is not None and draft.shape.unknown):
        return None
    if failed:
        plan = plan_memory(target, draft, machine)
        devices = [_with_less(planned.device, planned.required) for planned in plan.devices]
        machine = replace(machine, devices=tuple(devices))
    suggestion = suggest(target, draft, machine)
    if suggestion is None:
        return None
    return _changed(options, suggestion.changes), str(suggestion)


def _with_less(device: Device, required: int) -> Device:
    return replace(device, free=min(device.free, device.reserve + int(_SHRINK * required)))


def wishes_of(options: EngineOptions, models: ChosenModels) -> tuple[ModelWish, ModelWish | None]:
    """The two models as the memory plan sees them with these options."""
    target_settings, draft_settings = options.context_settings(default_threads=1)
    if options.ctx is None:
        target_settings = _bounded(target_settings, models.target)
    target = ModelWish(
        read_shape(models.target.header), target_settings, max_rows=options.drafting().draft_max + 1
    )
    if models.draft is None:
        return target, None
    draft_settings = _bounded(replace(draft_settings, n_ctx=target_settings.n_ctx), models.draft)
    return target, ModelWish(read_shape(models.draft.header), draft_settings)


def _bounded(settings: ContextSettings, model: ChosenModel) -> ContextSettings:
    trained = model.header.context_length
    return replace(settings, n_ctx=min(settings.n_ctx, trained)) if trained else settings


def _changed(options: EngineOptions, changes: tuple[str, ...]) -> EngineOptions:
    """The options with command-line changes such as `--ctx 3072` applied."""
    for change in changes:
        option, value = change.split(" ", 1)
        if option == "--ctx":
            options = replace(options, ctx=int(value))
        elif option == "--kv-type":
            options = replace(options, kv_type=value)
        elif option == "--gpu-layers":
            options = replace(options, gpu_layers=int(value))
        else:
            options = replace(
                options,
                drafter=value,
                draft=None,
                draft_max=None,
                accept=None,
                draft_threads=None,
                draft_gpu_layers=None,
                draft_kv_type=None,
            )
    return options
