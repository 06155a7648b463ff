from __future__ import annotations

import numpy as np
import pytest

from specdec_cli.errors import EngineFault, SpecdecError
from specdec_cli.sampling.history import Continuation, tail
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import SamplingSettings

N_VOCAB = 3000
KINDS = {
    "greedy": {"temperature": 0.0},
    "greedy, penalties": {"temperature": 0.0, "repeat_penalty": 1.2},
    "greedy, typical": {"temperature": 0.0, "typical_p": 0.5},
    "defaults": {"temperature": 0.8},
    "dense": {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0},
    "nucleus": {"temperature": 1.0, "top_k": 0, "min_p": 0.0},
    "min-p": {"temperature": 1.0, "top_k": 0, "top_p": 1.0},
    "typical": {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "typical_p": 0.9},
    "penalties": {"temperature": 0.8, "repeat_penalty": 1.2},
    "bias": {"temperature": 0.8, "logit_bias": ((5, 1.0),)},
    "dry": {"temperature": 0.8, "dry_multiplier": 0.8},
    "xtc": {"temperature": 1.0, "xtc_probability": 0.5},
}


def row(seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).normal(0, 3, N_VOCAB).astype(np.float32)
    values.setflags(write=False)
    return values


@pytest.mark.parametrize("kind", KINDS)
def test_the_row_is_left_alone_and_the_choice_has_a_positive_probability(kind: str) -> None:
    sampler = Sampler(SamplingSettings(**KINDS[kind]), N_VOCAB)
    history = [5, 6, 5, 6, 5]
    for seed in range(8):
        random = RandomSource(seed)
        token = sampler.choose(row(seed), history, random)
        assert sampler.distribution(row(seed), history, random).probability(token) > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("place", [0, 1700, N_VOCAB - 1])
def test_a_row_with_a_bad_number_never_gives_a_token(kind: str, bad: float, place: int) -> None:
    sampler = Sampler(SamplingSettings(**KINDS[kind]), N_VOCAB)
    values = row().copy()
    values[place] = bad
    with pytest.raises(SpecdecError, match="not numbers"):
        sampler.choose(values, [1, 2], RandomSource(0))


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_minus_infinity_never_gives_a_token(kind: str) -> None:
    sampler = Sampler(SamplingSettings(**KINDS[kind]), N_VOCAB)
    with pytest.raises(SpecdecError, match="no token is left"):
        sampler.choose(np.full(N_VOCAB, -np.inf, dtype=np.float32), [1, 2], RandomSource(0))


@pytest.mark.parametrize("kind", KINDS)
def test_forbidden_tokens_are_never_chosen(kind: str) -> None:
    sampler = Sampler(SamplingSettings(**KINDS[kind]), N_VOCAB)
    values = np.full(N_VOCAB, -np.inf, dtype=np.float32)
    values[[7, 900]] = 1.0
    assert {sampler.choose(values, list(range(n)), RandomSource(1)) for n in range(12)} <= {7, 900}


def test_greedy_takes_the_smallest_id_of_equals() -> None:
    values = np.zeros(N_VOCAB, dtype=np.float32)
    values[[40, 1200]] = 2.0
    assert Sampler(SamplingSettings(), N_VOCAB).choose(values, [], RandomSource(0)) == 40


@pytest.mark.parametrize("temperature", [1e-300, 1e-38, 1e-5, 1e30, 3e38])
def test_any_temperature_gives_a_distribution(temperature: float) -> None:
    sampler = Sampler(SamplingSettings(temperature=temperature), N_VOCAB)
    found = sampler.distribution(100 * row(), [])
    assert found.probabilities.sum() == pytest.approx(1)
    if temperature < 1:
        assert found.token_at(0) == int(row().argmax())
        assert found.probabilities[0] == 1


@pytest.mark.parametrize("penalty", [1e-30, 1e30])
def test_an_extreme_penalty_never_gives_a_random_token(penalty: float) -> None:
    sampler = Sampler(SamplingSettings(temperature=1.0, repeat_penalty=penalty), N_VOCAB)
    best = int(row().argmax())
    token = sampler.choose(row(), [best], RandomSource(0))
    assert (token == best) == (penalty < 1)


def test_the_same_seed_and_position_choose_the_same_token() -> None:
    sampler = Sampler(SamplingSettings(temperature=1.5), N_VOCAB)
    by_position = [sampler.choose(row(), [0] * n, RandomSource(9)) for n in range(40)]
    assert by_position == [sampler.choose(row(), [1] * n, RandomSource(9)) for n in range(40)]
    assert len(set(by_position)) > 1


def test_what_a_sampler_says_about_itself() -> None:
    assert Sampler(SamplingSettings(), N_VOCAB).is_greedy
    assert not Sampler(SamplingSettings(temperature=0.1), N_VOCAB).is_greedy
    needing = [kind for kind, s in KINDS.items() if Sampler(SamplingSettings(**s), N_VOCAB).needs_history]
    assert needing == ["greedy, penalties", "penalties", "dry"]
    assert not Sampler(SamplingSettings(repeat_penalty=2.0, penalty_last_n=0), N_VOCAB).needs_history


def test_xtc_strikes_by_chance_and_the_chance_belongs_to_the_position() -> None:
    sampler = Sampler(SamplingSettings(temperature=1.0, xtc_probability=0.3, min_p=0.0), 4)
    values = np.array([2.0, 1.9, 0.5, 0.0], dtype=np.float32)
    random = RandomSource(0)
    sizes = [len(sampler.distribution(values, [0] * n, random)) for n in range(1000)]
    assert set(sizes) == {4, 3}
    # 300 expected, five standard deviations are 73.
    assert 227 < sizes.count(3) < 373
    with pytest.raises(EngineFault, match="XTC"):
        sampler.distribution(values, [])


def test_continuation_is_the_base_and_what_was_appended() -> None:
    base = list(range(10))
    text = Continuation(base)
    text.append(70)
    text.append(71)
    whole = [*base, 70, 71]
    assert list(text) == whole
    assert len(text) == 12
    assert (text[-1], text[-3], text[11]) == (71, 9, 71)
    for start in range(-13, 14):
        for stop in range(-13, 14):
            assert text[start:stop] == whole[start:stop]
    assert text[::-2] == whole[::-2]
    with pytest.raises(IndexError):
        text[12]
    assert tail(text, 3).tolist() == [9, 70, 71]
    assert tail(text, 50).tolist() == tail(text, -1).tolist() == whole
    assert base == list(range(10))
