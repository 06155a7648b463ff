"""What follows from a draft's parent array: children, depths, leaves, paths, sequence ids.

parents (-1, 0, 0, 1)          pending ─ 0 ─┬─ 1 ─ 3        a chain is the tree whose parent is i - 1
                                            └─ 2
"""

from __future__ import annotations

from collections.abc import Sequence

from specdec_cli.draft.values import Draft
from specdec_cli.errors import EngineFault


def check(draft: Draft) -> None:
    """Raise `EngineFault` unless parents come before their children and the parts have one length."""
    if len(draft.parents) != len(draft.tokens):
        raise EngineFault(f"a draft of {len(draft.tokens)} tokens has {len(draft.parents)} parents")
    if draft.distributions is not None and len(draft.distributions) != len(draft.tokens):
        raise EngineFault(
            f"a draft of {len(draft.tokens)} tokens has {len(draft.distributions)} distributions"
        )
    for node, parent in enumerate(draft.parents):
        if not -1 <= parent < node:
            raise EngineFault(f"node {node} of a draft has the parent {parent}: parents come before children")


def is_chain(parents: Sequence[int]) -> bool:
    """Whether every node follows the one before it."""
    return all(parent == node - 1 for node, parent in enumerate(parents))


def children(parents: Sequence[int]) -> list[list[int]]:
    """Children of the pending token at [0], of node i at [i + 1], in the order of the draft."""
    result: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for node, parent in enumerate(parents):
        result[parent + 1].append(node)
    return result


def depths(parents: Sequence[int]) -> list[int]:
    """How many tokens lie between the pending token and each node: 0 for its children."""
    result: list[int] = []
    for parent in parents:
        result.append(0 if parent < 0 else result[parent] + 1)
    return result


def path_to(parents: Sequence[int], node: int) -> tuple[int, ...]:
    """The nodes from the root down to `node`, itself included; empty for -1."""
    path: list[int] = []
    while node >= 0:
        path.append(node)
        node = parents[node]
    return tuple(reversed(path))


def leaves(parents: Sequence[int]) -> list[int]:
    """Nodes without children, in the order of the draft."""
    with_children = set(parents)
    return [node for node in range(len(parents)) if node not in with_children]


def sequence_ids(parents: Sequence[int]) -> list[tuple[int, ...]]:
    """For each node, the leaves (numbered 0, 1, … in their order) whose path holds it.

    Given to llama.cpp as the node's sequence ids, they make each node attend to exactly its ancestors.
    """
    result: list[list[int]] = [[] for _ in parents]
    for number, leaf in enumerate(leaves(parents)):
        for node in path_to(parents, leaf):
            result[node].append(number)
    return [tuple(ids) for ids in result]
