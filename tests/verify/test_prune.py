from __future__ import annotations

import numpy as np
import pytest

from specdec_cli.draft.values import Draft
from specdec_cli.sampling.distribution import Distribution
from specdec_cli.verify.prune import prune
from tests.support.toy_constraint import Alternating

FIRST, SECOND, END = frozenset({1, 3}), frozenset({2, 4}), 0


def test_a_chain_ends_before_the_first_forbidden_token() -> None:
    grammar = Alternating(FIRST, SECOND)
    pruned = prune(Draft.chain([1, 2, 3, 3, 2], confidences=[0.9, 0.8, 0.7, 0.6, 0.5], source="x"), grammar)
    assert pruned == Draft.chain([1, 2, 3], confidences=[0.9, 0.8, 0.7], source="x")
    assert len(grammar.forks) == 1
    assert grammar.turn == 0


def test_a_tree_loses_branches_and_renumbers_its_parents() -> None:
    #  1 ─┬─ 2 ─ 3       2 is forbidden at the root, 1 after 1
    #     └─ 1 ─ 2
    #  2 ─── 1
    draft = Draft((1, 2, 2, 1, 1, 3, 2), (-1, -1, 0, 0, 1, 2, 3))
    pruned = prune(draft, Alternating(FIRST, SECOND))
    assert (pruned.tokens, pruned.parents) == ((1, 2, 3), (-1, 0, 1))


def test_siblings_do_not_disturb_each_other() -> None:
    draft = Draft((1, 2, 4, 3, 1), (-1, 0, 0, 1, 2))
    assert prune(draft, Alternating(FIRST, SECOND)) == draft


def test_nothing_follows_the_end() -> None:
    pruned = prune(Draft.chain([1, 2, END, 1]), Alternating(FIRST, SECOND, END))
    assert pruned.tokens == (1, 2, END)


def test_an_allowed_draft_and_an_empty_one_stay() -> None:
    draft = Draft.chain([1, 2], distributions=[Distribution.point_mass(1), Distribution.point_mass(2)])
    assert prune(draft, Alternating(FIRST, SECOND)) == draft
    assert prune(Draft(), Alternating(FIRST, SECOND)) == Draft()


@pytest.mark.parametrize("dense", [False, True])
def test_what_stays_carries_its_distribution_given_that_it_is_allowed(dense: bool) -> None:
    probabilities = np.array([0.0, 0.2, 0.4, 0.3, 0.1])
    ids = None if dense else np.arange(5)
    drawn_from = Distribution(ids, probabilities)
    pruned = prune(Draft((3, 2), (-1, -1), (drawn_from, drawn_from)), Alternating(FIRST, SECOND))
    assert pruned.tokens == (3,)
    assert pruned.distributions is not None
    assert [pruned.distributions[0].probability(token) for token in range(5)] == pytest.approx(
        [0, 0.4, 0, 0.6, 0]
    )
