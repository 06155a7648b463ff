"""Pairs close in time, orders that turn, tasks that stay in step."""

from __future__ import annotations

from collections import Counter

import pytest

from specdec_cli.bench.schedule import MOST_BESIDE_PLAIN, make_blocks


def test_two_variants_alternate() -> None:
    blocks = make_blocks(("code", "chat"), 2, 2)
    assert [(block.task, block.prompt, block.order) for block in blocks] == [
        ("code", 0, (0, 1)),
        ("chat", 0, (1, 0)),
        ("code", 1, (0, 1)),
        ("chat", 1, (1, 0)),
    ]


@pytest.mark.parametrize("variants", [2, 3, 4, 7])
def test_each_variant_takes_each_position_equally_often(variants: int) -> None:
    blocks = make_blocks(("code",), variants * 3, variants)
    places = Counter((index, place) for block in blocks for place, index in enumerate(block.order))
    assert set(places.values()) == {3}
    assert len(places) == variants**2


@pytest.mark.parametrize("variants", [8, 20, 33])
def test_many_variants_are_split_and_plain_is_in_every_block(variants: int) -> None:
    blocks = make_blocks(("code", "json"), 2, variants)
    assert all(len(block.order) <= MOST_BESIDE_PLAIN + 1 and 0 in block.order for block in blocks)
    for task in ("code", "json"):
        for prompt in (0, 1):
            of_prompt = [i for b in blocks if (b.task, b.prompt) == (task, prompt) for i in b.order if i]
            assert sorted(of_prompt) == list(range(1, variants))
    assert [block.number for block in blocks] == list(range(len(blocks)))


def test_plain_turns_too_when_blocks_are_split() -> None:
    blocks = make_blocks(("code",), 14, 14)
    assert len({block.order.index(0) for block in blocks}) > 2


def test_a_bench_broken_off_has_as_much_of_every_task() -> None:
    blocks = make_blocks(("code", "chat", "edit"), 4, 3, first_prompt=5)
    assert [block.task for block in blocks[:6]] == ["code", "chat", "edit"] * 2
    assert {block.prompt for block in blocks} == {5, 6, 7, 8}
