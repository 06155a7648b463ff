"""When a wish does not fit: the nearest one that does, cheapest loss first.

1. a smaller context, but no less than 2048
2. a smaller KV type (q8_0, then q4_0), then both
3. fewer layers of the target on the GPU
4. no draft, then no draft with the above
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from specdec_cli.hardware.values import Machine
from specdec_cli.memory.cache import is_quantized
from specdec_cli.memory.check_kv import kv_findings
from specdec_cli.memory.plan import fits, largest_context, largest_that, with_context
from specdec_cli.memory.wish import ModelWish
from specdec_cli.settings import KvType

_LEAST_CONTEXT = 2048
_SMALLER_TYPES: tuple[KvType, ...] = ("q8_0", "q4_0")


@dataclass(frozen=True)
class Suggestion:
    """Settings that fit, and how they differ from what was wished."""

    target: ModelWish
    draft: ModelWish | None
    changes: tuple[str, ...]
    """What to change, as command line options: `--ctx 3072`, `--drafter none`."""

    def __str__(self) -> str:
        return " ".join(self.changes)


def suggest(target: ModelWish, draft: ModelWish | None, machine: Machine) -> Suggestion | None:
    """The nearest wish that fits; None when nothing does, or when a model's memory is unknown."""
    if target.shape.unknown or (draft is not None and draft.shape.unknown):
        return None
    for candidate in _candidates(target, draft, machine):
        if fits(candidate.target, candidate.draft, machine):
            return candidate
    return None


def _candidates(target: ModelWish, draft: ModelWish | None, machine: Machine) -> Iterator[Suggestion]:
    yield from _with_draft_kept(Suggestion(target, draft, ()), machine)
    if draft is not None:
        alone = Suggestion(target, None, ("--drafter none",))
        yield alone
        yield from _with_draft_kept(alone, machine)


def _with_draft_kept(base: Suggestion, machine: Machine) -> Iterator[Suggestion]:
    yield from _smaller_context(base, machine)
    for kv_type in _SMALLER_TYPES:
        smaller = _other_kv_type(base, kv_type)
        if smaller is not None:
            yield smaller
            yield from _smaller_context(smaller, machine)
    yield from _fewer_layers(base, machine)


def _smaller_context(base: Suggestion, machine: Machine) -> Iterator[Suggestion]:
    most = largest_context(base.target, base.draft, machine)
    if min(_LEAST_CONTEXT, base.target.settings.n_ctx) <= most < base.target.settings.n_ctx:
        yield _changed(base, lambda wish: with_context(wish, most), f"--ctx {most}")


def _other_kv_type(base: Suggestion, kv_type: KvType) -> Suggestion | None:
    """With another KV type for both models; None where it would not be smaller or cannot work."""
    if is_quantized(base.target.settings.kv_type) or not base.target.flash_attention:
        return None
    smaller = _changed(
        base,
        lambda wish: replace(wish, settings=replace(wish.settings, kv_type=kv_type)),
        f"--kv-type {kv_type}",
    )
    wishes = [smaller.target] if smaller.draft is None else [smaller.target, smaller.draft]
    return smaller if not kv_findings(wishes) else None


def _fewer_layers(base: Suggestion, machine: Machine) -> Iterator[Suggestion]:
    """With as many layers of the target offloaded as fit; where everything is in one memory there is no choice."""
    if all(device.kind != "gpu" for device in machine.devices):
        return

    def with_layers(count: int) -> ModelWish:
        return replace(base.target, settings=replace(base.target.settings, gpu_layers=count))

    count = largest_that(
        lambda layers: fits(with_layers(layers), base.draft, machine), base.target.gpu_layers
    )
    yield Suggestion(with_layers(count), base.draft, (*base.changes, f"--gpu-layers {count}"))


def _changed(base: Suggestion, change: Callable[[ModelWish], ModelWish], option: str) -> Suggestion:
    draft = None if base.draft is None else change(base.draft)
    return Suggestion(change(base.target), draft, (*base.changes, option))
