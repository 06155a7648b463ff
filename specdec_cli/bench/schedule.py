"""In which order to measure: blocks of one prompt, every variant in each, the order rotating."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")

MOST_BESIDE_PLAIN = 6
"""With more variants than this, a block is split: what is compared has to be close in time."""


@dataclass(frozen=True)
class Block:
    """One prompt, and who answers it in which order. Indices into the variants; 0 is plain decoding."""

    number: int
    task: str
    prompt: int
    order: tuple[int, ...]


def make_blocks(tasks: Sequence[str], runs: int, variants: int, first_prompt: int = 0) -> tuple[Block, ...]:
    """`runs` prompts of each task, task after task within a run, so that a break-off leaves all tasks alike.

    `variants` counts plain decoding, which is variant 0 and is in every block. Over the blocks each position in
    the order is taken by each variant equally often, up to one.
    """
    groups = list(_groups(range(1, variants)))
    blocks: list[Block] = []
    for run in range(runs):
        for task in tasks:
            for group in groups:
                number = len(blocks)
                members = (0, *group)
                # Each group turns by its own count of blocks, or it would skip positions.
                shift = number // len(groups) % len(members)
                order = members[shift:] + members[:shift]
                blocks.append(Block(number, task, first_prompt + run, order))
    return tuple(blocks)


def _groups(others: Sequence[Item]) -> Iterator[tuple[Item, ...]]:
    """The variants beside plain, in groups of nearly equal size."""
    count = max(1, -(-len(others) // MOST_BESIDE_PLAIN))
    for index in range(count):
        yield tuple(others[index::count])
