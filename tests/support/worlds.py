"""The machines and texts that the policy is tried on: `simulator.World`s."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.simulator import Script, World, copy_script, curve, model_script


def alternating(rates: Sequence[float], segment: int, length: int) -> list[float]:
    """A chance per position that changes suddenly every `segment` tokens."""
    return [rates[i // segment % len(rates)] for i in range(length)]


TEXT = 26_000
MS = 1e-3

DRAFT_CPU = curve({1: 1, 2: 1.8, 4: 2.6, 8: 4.2, 16: 6.1, 32: 11}, 4.3 * MS)
CPU = {
    "F32": curve({1: 1, 2: 1.2, 4: 1.5, 8: 2.0, 16: 2.9}, 20.8 * MS),
    "F16": curve({1: 1, 2: 1.8, 4: 1.6, 8: 2.2, 16: 3.6}, 12.7 * MS),
    "Q8_0": curve({1: 1, 2: 2.1, 4: 2.6, 8: 3.8, 16: 5.9}, 6.9 * MS),
    "Q4_1": curve({1: 1, 2: 1.8, 4: 2.7, 8: 4.4, 16: 8.0}, 7.3 * MS),
    "gemma": curve({1: 1, 4: 2.5, 5: 3.8, 8: 3.7, 16: 7.0}, 11.5 * MS),
}
"""Measured on the machine of design.md §5, over one row."""

GPU = curve({1: 1, 8: 1.06, 16: 1.15}, 20 * MS)
GPU_DRAFT = curve({1: 1, 32: 1.3}, 2.2 * MS)
CLIFF = curve({1: 1, 2: 5, 16: 5.6}, 20 * MS)
MOE = curve({1: 1, 2: 1.7, 4: 2.9, 8: 4.6, 16: 6.0}, 15 * MS)
MOE_DRAFT = curve({1: 1, 32: 2}, 3 * MS)
OTHER_DEVICE_DRAFT = curve({1: 1, 2: 1.1, 32: 5}, 7 * MS)


def worlds() -> list[World]:
    """Every scenario of the regret test."""

    def steady(rate: float, seed: int, **options: bool) -> Script:
        return model_script([rate] * TEXT, seed, **options)

    def changing(rates: Sequence[float], segment: int, seed: int) -> Script:
        return model_script(alternating(rates, segment, TEXT), seed)

    copying = copy_script(TEXT, 11, share=0.7)
    prose = copy_script(TEXT, 12, share=0.05)
    return [
        World("GPU, flat curve", GPU, GPU_DRAFT, steady(0.75, 1), prose, seed=1),
        World("GPU, flat, edit", GPU, GPU_DRAFT, steady(0.8, 2), copying, seed=2),
        World("GPU, uninformative confidence", GPU, GPU_DRAFT, steady(0.7, 3, informative=False), seed=3),
        World("GPU, sudden changes", GPU, GPU_DRAFT, changing((0.92, 0.2), 200, 4), seed=4),
        World("two-row cliff, poor draft", CLIFF, GPU_DRAFT, steady(0.6, 5), prose, seed=5),
        World("two-row cliff, excellent draft", CLIFF, GPU_DRAFT, steady(0.96, 6), copying, seed=6),
        World("MoE", MOE, MOE_DRAFT, steady(0.7, 7), prose, seed=7),
        World("MoE, edit", MOE, MOE_DRAFT, steady(0.7, 8), copying, seed=8),
        World("draft on another device", GPU, OTHER_DEVICE_DRAFT, steady(0.75, 9), seed=9),
        World("CPU F32, code", CPU["F32"], DRAFT_CPU, steady(0.85, 10), prose, seed=10),
        World("CPU F32, prose", CPU["F32"], DRAFT_CPU, steady(0.6, 11), prose, seed=11),
        World(
            "CPU F32, sudden changes", CPU["F32"], DRAFT_CPU, changing((0.9, 0.3), 150, 12), prose, seed=12
        ),
        World("CPU F16, code", CPU["F16"], DRAFT_CPU, steady(0.85, 13), prose, seed=13),
        World("CPU F16, prose", CPU["F16"], DRAFT_CPU, steady(0.55, 14), prose, seed=14),
        World("CPU F16, edit", CPU["F16"], DRAFT_CPU, steady(0.7, 15), copying, seed=15),
        World("CPU F16, one sudden change", CPU["F16"], DRAFT_CPU, changing((0.3, 0.93), 600, 16), seed=16),
        World("CPU Q8_0", CPU["Q8_0"], DRAFT_CPU, steady(0.8, 17), prose, seed=17),
        World("CPU Q4_1, edit", CPU["Q4_1"], DRAFT_CPU, steady(0.8, 18), copying, seed=18),
        World("CPU Gemma, steps", CPU["gemma"], DRAFT_CPU, steady(0.8, 19), copying, seed=19),
        World("draft as large as the target", CPU["Q8_0"], CPU["Q8_0"], steady(0.99, 20), prose, seed=20),
        World("useless draft on a GPU", GPU, GPU_DRAFT, steady(0.03, 21), prose, seed=21),
        World("n-gram only, flat", GPU, GPU_DRAFT, None, copying, seed=22),
        World(
            "n-gram only, hopeless", CPU["Q8_0"], DRAFT_CPU, None, copy_script(TEXT, 23, share=0.0), seed=23
        ),
    ]
