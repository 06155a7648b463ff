from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_cli.errors import SpecdecError
from specdec_cli.sampling.candidates import Candidates, largest
from specdec_cli.sampling.chain import top_p


def by_sorting(values: np.ndarray, count: int) -> list[int]:
    order = sorted(range(len(values)), key=lambda index: (-values[index], index))
    return [index for index in order if values[index] > -np.inf][:count]


@settings(max_examples=150, deadline=None)
@given(
    size=st.sampled_from([1, 2, 39, 511, 512, 1024, 1025, 3000, 5120]),
    count=st.sampled_from([1, 2, 3, 5, 40, 511, 2000, 10_000]),
    levels=st.sampled_from([1, 3, 50, 10**6]),
    forbidden=st.sampled_from([0.0, 0.5, 0.999]),
    seed=st.integers(0, 2**32 - 1),
    wide=st.booleans(),
)
def test_the_largest_are_those_that_sorting_finds(
    size: int, count: int, levels: int, forbidden: float, seed: int, wide: bool
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, levels, size).astype(np.float64 if wide else np.float32) - levels / 2
    values[rng.random(size) < forbidden] = -np.inf
    values[rng.integers(0, size)] = 0.5
    assert largest(values, count).tolist() == by_sorting(values, count)


@pytest.mark.parametrize("size", [5, 3000, 5121])
@pytest.mark.parametrize("count", [1, 2, 40, 6000])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_number_anywhere_is_refused(size: int, count: int, bad: float) -> None:
    for place in {0, size // 2, size - 1}:
        values = np.random.default_rng(0).normal(size=size).astype(np.float32)
        values[place] = bad
        with pytest.raises(SpecdecError, match="not numbers") as caught:
            largest(values, count)
        assert caught.value.code == "hardware.nan_logits"


@pytest.mark.parametrize("size", [5, 5121])
@pytest.mark.parametrize("count", [1, 40])
def test_a_row_without_a_choice_is_refused(size: int, count: int) -> None:
    with pytest.raises(SpecdecError, match="no token is left"):
        largest(np.full(size, -np.inf, dtype=np.float32), count)


def test_a_wide_nucleus_takes_tied_tokens_by_id() -> None:
    flat = Candidates(None, np.zeros(10_000, dtype=np.float32))
    kept = top_p(flat, 0.49995)
    assert kept.tokens is not None
    assert kept.tokens.tolist() == list(range(5000))


def test_a_wide_nucleus_is_what_sorting_finds() -> None:
    row = np.random.default_rng(3).normal(0, 1, 20_000).astype(np.float32)
    kept = top_p(Candidates(None, row), 0.8)
    assert kept.tokens is not None
    weights = np.exp(row.astype(np.float64))
    order = np.argsort(-weights)
    count = int(np.searchsorted(np.cumsum(weights[order] / weights.sum()), 0.8)) + 1
    assert abs(len(kept.tokens) - count) <= 1
    assert kept.tokens.tolist() == sorted(order[: len(kept.tokens)].tolist())
