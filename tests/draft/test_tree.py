"""What follows from the parent array, against definitions by paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_cli.draft import tree
from specdec_cli.draft.values import Draft
from specdec_cli.errors import EngineFault
from specdec_cli.sampling.distribution import Distribution


@st.composite
def parent_arrays(draw: st.DrawFn) -> list[int]:
    size = draw(st.integers(0, 9))
    return [draw(st.integers(-1, node - 1)) for node in range(size)]


def test_the_picture_in_the_docstring() -> None:
    parents = (-1, 0, 0, 1)
    assert tree.children(parents) == [[0], [1, 2], [3], [], []]
    assert tree.depths(parents) == [0, 1, 1, 2]
    assert tree.leaves(parents) == [2, 3]
    assert tree.path_to(parents, 3) == (0, 1, 3)
    assert tree.sequence_ids(parents) == [(0, 1), (1,), (0,), (1,)]
    assert not tree.is_chain(parents)


def test_a_chain() -> None:
    parents = Draft.chain([5, 6, 7]).parents
    assert tree.is_chain(parents)
    assert tree.leaves(parents) == [2]
    assert tree.sequence_ids(parents) == [(0,), (0,), (0,)]
    assert tree.is_chain(())


@given(parent_arrays())
def test_laws(parents: list[int]) -> None:
    nodes = range(len(parents))
    paths = [tree.path_to(parents, node) for node in nodes]
    offspring = tree.children(parents)
    assert sorted(child for children in offspring for child in children) == list(nodes)
    assert all(parents[child] == node - 1 for node, children in enumerate(offspring) for child in children)
    assert tree.depths(parents) == [len(path) - 1 for path in paths]
    leaves = tree.leaves(parents)
    assert leaves == [node for node in nodes if not offspring[node + 1]]
    for node, ids in enumerate(tree.sequence_ids(parents)):
        assert ids == tuple(number for number, leaf in enumerate(leaves) if node in paths[leaf])
        # A node may see exactly those whose sequences include all of its own and which come before it.
        seen = {other for other in nodes if set(ids) <= set(tree.sequence_ids(parents)[other])}
        assert set(paths[node]) <= seen
    assert tree.is_chain(parents) == (len(leaves) <= 1 and all(len(c) <= 1 for c in offspring))


@pytest.mark.parametrize("parents", [(0,), (-1, 1), (-2,), (-1, 0, 3)])
def test_parents_come_before_children(parents: tuple[int, ...]) -> None:
    with pytest.raises(EngineFault, match="parents come before children"):
        tree.check(Draft(tuple(range(len(parents))), parents))


def test_parts_of_different_length_are_a_fault() -> None:
    with pytest.raises(EngineFault, match="1 parents"):
        tree.check(Draft((1, 2), (-1,)))
    with pytest.raises(EngineFault, match="1 distributions"):
        tree.check(Draft((1, 2), (-1, 0), (Distribution.point_mass(1),)))
