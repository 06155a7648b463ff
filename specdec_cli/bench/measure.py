"""Warm up, then play block after block; what is complete counts, also when the user stops in the middle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from specdec_cli.bench.agreement import Gap, compare_answers
from specdec_cli.bench.rig import Played, Rig
from specdec_cli.bench.schedule import Block
from specdec_cli.bench.tasks import WARM_UP, prompts_of
from specdec_cli.bench.values import Sample, Variant

WARM_UP_TOKENS = 24

Progressing = Callable[[str, float | None], None]


@dataclass(frozen=True)
class Measured:
    """All samples of the complete blocks, and whether the user stopped it before the last one."""

    samples: tuple[Sample, ...]
    interrupted: bool = False


def warm_up(
    rig: Rig,
    variants: Sequence[Variant],
    max_tokens: int,
    interrupted: Callable[[], bool] = lambda: False,
) -> list[float]:
    """Let every variant answer once; the answers are discarded. Tokens per second, for an estimate of the time."""
    speeds = []
    for variant in variants:
        prompt = rig.tokens_of(variant.placement, WARM_UP)
        played = rig.play(variant, prompt, min(max_tokens, WARM_UP_TOKENS), interrupted)
        if played.finish_reason == "interrupt":
            raise KeyboardInterrupt
        speeds.append(len(played.tokens) / max(played.seconds, 1e-9))
    return speeds


def measure(
    rig: Rig,
    variants: Sequence[Variant],
    blocks: Sequence[Block],
    max_tokens: int,
    interrupted: Callable[[], bool] = lambda: False,
    progress: Progressing = lambda _what, _fraction: None,
) -> Measured:
    """Play the blocks. `variants[0]` is plain decoding, against which the others' answers are compared."""
    samples: list[Sample] = []
    for count, block in enumerate(blocks):
        played: dict[int, Played] = {}
        prompt_text = prompts_of(block.task)[block.prompt]
        for index in block.order:
            variant = variants[index]
            share = (count + len(played) / len(block.order)) / len(blocks)
            progress(f"{block.task} · {variant.label}", share)
            prompt = rig.tokens_of(variant.placement, prompt_text)
            played[index] = rig.play(variant, prompt, max_tokens, interrupted)
            if played[index].finish_reason == "interrupt":
                return Measured(tuple(samples), interrupted=True)
        samples += _samples(rig, variants, block, prompt_text, played)
    progress("done", 1.0)
    return Measured(tuple(samples))


def _samples(
    rig: Rig, variants: Sequence[Variant], block: Block, prompt_text: str, played: dict[int, Played]
) -> list[Sample]:
    """The block's answers in the order of the variants, each compared with plain decoding's."""
    plain = played[0].tokens
    prompt = rig.tokens_of(variants[0].placement, prompt_text)

    def gap_at(index: int, rivals: tuple[int, int]) -> Gap:
        return rig.gap_after(variants[0].placement, [*prompt, *plain[:index]], rivals)

    samples = []
    for index in sorted(played):
        answer = played[index]
        sample = Sample(
            block=block.number,
            task=block.task,
            prompt=block.prompt,
            variant=variants[index].label,
            tokens=answer.tokens,
            seconds=answer.seconds,
            prompt_tokens=answer.prompt_tokens,
            prompt_seconds=answer.prompt_seconds,
            rounds=answer.rounds,
            finish_reason=answer.finish_reason,
            estimated_gain=answer.estimated_gain,
        )
        if index > 0:
            sample = replace(sample, agreement=compare_answers(plain, answer.tokens, gap_at))
        samples.append(sample)
    return samples
