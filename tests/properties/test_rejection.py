"""For any two distributions: what is accepted and what the residual adds make up the target."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_cli.errors import EngineFault
from specdec_cli.sampling.distribution import Distribution
from specdec_cli.verify.rejection import acceptance_probability, residual

SIZE = 6


def normalised(weights: list[float]) -> np.ndarray:
    values = np.array(weights, dtype=np.float64)
    return values / values.sum()


WEIGHTS = (0.0, 0.0, 1e-12, 3e-9, 1e-6, 0.01, 0.1, float(np.float32(0.1)), 0.25, 1 / 3, 0.7, 1.0)
weights = st.lists(st.sampled_from(WEIGHTS), min_size=SIZE, max_size=SIZE).filter(any)


@st.composite
def distributions(draw: st.DrawFn) -> Distribution:
    """Zeros, equal, one-hot, tiny and float32 probabilities; dense, or sparse in any order."""
    probabilities = normalised(draw(weights))
    if draw(st.booleans()):
        return Distribution(None, probabilities)
    order = np.array(draw(st.permutations(range(SIZE))))
    if draw(st.booleans()):
        order = order[probabilities[order] > 0]
    return Distribution(order, probabilities[order])


def dense(distribution: Distribution) -> np.ndarray:
    return np.array([distribution.probability(token) for token in range(SIZE)])


def output(target: Distribution, proposal: Distribution) -> np.ndarray:
    """The distribution of the token that comes out after one candidate drawn from `proposal`."""
    result = np.zeros(SIZE)
    rejected = 0.0
    for token in range(SIZE):
        proposed = proposal.probability(token)
        if proposed > 0:
            kept = acceptance_probability(target, proposal, token)
            result[token] += proposed * kept
            rejected += proposed * (1 - kept)
    return result + rejected * dense(residual(target, proposal))


@settings(max_examples=200, deadline=None)
@given(distributions(), distributions())
def test_one_candidate_gives_the_target(target: Distribution, proposal: Distribution) -> None:
    assert output(target, proposal) == pytest.approx(dense(target), abs=1e-9)


@settings(max_examples=80, deadline=None)
@given(distributions(), st.integers(0, SIZE - 1))
def test_a_deterministic_candidate_gives_the_target(target: Distribution, token: int) -> None:
    assert output(target, Distribution.point_mass(token)) == pytest.approx(dense(target), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(distributions(), distributions(), distributions())
def test_what_a_rejection_leaves_can_be_judged_again(
    target: Distribution, first: Distribution, second: Distribution
) -> None:
    left = residual(target, first)
    assert output(left, second) == pytest.approx(dense(left), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(distributions(), distributions())
def test_residual_is_a_distribution_within_the_target(target: Distribution, proposal: Distribution) -> None:
    left = residual(target, proposal)
    assert left.probabilities.min() >= 0
    assert left.probabilities.sum() == pytest.approx(1, abs=1e-9)
    assert np.all(dense(target)[dense(left) > 0] > 0)


def test_disjoint_distributions_reject_always_and_leave_the_target() -> None:
    target = Distribution(np.array([0, 1]), np.array([0.25, 0.75]))
    proposal = Distribution(np.array([2, 3]), np.array([0.5, 0.5]))
    assert acceptance_probability(target, proposal, 2) == 0
    assert dense(residual(target, proposal)) == pytest.approx(dense(target))


def test_equal_distributions_accept_always() -> None:
    target = Distribution(None, normalised([3, 1, 2, 0, 1, 1]))
    assert all(acceptance_probability(target, target, token) == 1 for token in (0, 1, 2, 4, 5))
    assert residual(target, target) is target


@pytest.mark.parametrize("proposal_size", [3, 9])
def test_vocabularies_of_different_size(proposal_size: int) -> None:
    proposal = Distribution(None, np.full(proposal_size, 1 / proposal_size))
    target = Distribution(None, normalised([1, 2, 3, 4, 5, 6]))
    left = dense(residual(target, proposal))
    expected = np.maximum(dense(target) - [proposal.probability(token) for token in range(SIZE)], 0)
    assert left == pytest.approx(expected / expected.sum())
    assert acceptance_probability(target, proposal, 2) == pytest.approx(
        min(1, target.probability(2) * proposal_size)
    )


def test_a_token_outside_its_own_distribution_is_a_fault() -> None:
    with pytest.raises(EngineFault, match="token 5"):
        acceptance_probability(Distribution.point_mass(5), Distribution.point_mass(4), 5)
