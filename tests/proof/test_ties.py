"""Telling rounding from a mistake: the gap between two choices, and the noise that may explain it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from specdec_cli.proof.ties import (
    LEAST_THRESHOLD,
    MOST_THRESHOLD,
    Noise,
    change_of_distances,
    first_difference,
    largest_change,
    logit_gap,
)
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import SamplingSettings
from tests.support.toy import ToyBackend
from tests.support.trials import WORDS, SpoiledBackend, shaking, toy_subject

ROW = np.array([0.0, 3.0, 2.5, 1.0, -np.inf], dtype=np.float32)


def greedy(row: np.ndarray) -> int:
    return int(row.argmax())


def test_greedy_the_gap_is_the_difference_of_the_two_logits() -> None:
    assert logit_gap(ROW, 1, 2, greedy) == pytest.approx(0.5, abs=1e-5)
    assert logit_gap(ROW, 2, 1, greedy) == pytest.approx(0.5, abs=1e-5)
    assert logit_gap(ROW, 1, 0, greedy) == pytest.approx(3.0, abs=1e-5)


def test_two_tokens_behind_a_third_are_as_far_apart_as_from_it() -> None:
    assert logit_gap(ROW, 2, 0, greedy) == pytest.approx(3.0, abs=1e-5)


def test_no_shift_brings_back_an_impossible_token() -> None:
    assert logit_gap(ROW, 1, 4, greedy) == float("inf")


def test_sampling_the_gap_takes_the_chance_of_both_tokens_in() -> None:
    """The race of probabilities over noise is won by the largest logit - log(noise)."""
    sampler = Sampler(SamplingSettings(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0), 5)
    random = RandomSource(4)
    text = [1, 2, 3]
    arrivals = ROW[:4] - np.log(random.exponentials(len(text), np.arange(4)))
    order = np.argsort(-arrivals)
    gap = logit_gap(ROW, int(order[0]), int(order[1]), lambda row: sampler.choose(row, text, random))
    assert gap == pytest.approx(arrivals[order[0]] - arrivals[order[1]], abs=1e-5)
    assert sampler.choose(ROW, text, random) == order[0]


def test_sampling_a_token_just_outside_top_p_is_close() -> None:
    """0.5, 0.5 - tiny and the rest: at top-p 0.5 the second token is out by a hair, whatever the chance."""
    row = np.array([1.001, 1.0, -9.0], dtype=np.float32)
    sampler = Sampler(SamplingSettings(temperature=1.0, top_p=0.5, min_p=0.0), 3)
    assert logit_gap(row, 0, 1, lambda moved: sampler.choose(moved, [0], RandomSource(1))) < 0.01


def test_sampling_a_token_is_close_when_the_mass_above_it_is_close_to_top_p() -> None:
    """0.5, 0.3 and 0.1501 reach 0.95 without the fourth token, whose luck would have won the race."""
    row = np.log(np.array([0.5, 0.3, 0.1501, 0.0499], dtype=np.float32))
    text = [1, 2]
    seed = next(
        seed
        for seed in range(1000)
        if np.argmax(np.exp(row) / RandomSource(seed).exponentials(len(text), np.arange(4))) == 3
    )
    sampler, random = Sampler(SamplingSettings(temperature=1.0, min_p=0.0), 4), RandomSource(seed)
    chosen = sampler.choose(row, text, random)
    assert chosen != 3
    assert logit_gap(row, chosen, 3, lambda moved: sampler.choose(moved, text, random)) < 0.01
    assert logit_gap(row, 3, chosen, lambda moved: sampler.choose(moved, text, random)) < 0.01


def test_sampling_the_winner_is_close_to_a_loser_when_it_barely_passed_min_p() -> None:
    """Token 2 has 0.0501 of the likeliest one's chance and wins by luck: an edge moved by a hair, and it is out."""
    row = np.log(np.array([1.0, 0.5, 0.0501], dtype=np.float32))
    sampler, text = Sampler(SamplingSettings(temperature=1.0, min_p=0.05, top_p=1.0), 3), [1, 2]
    random = next(
        random for random in map(RandomSource, range(1000)) if sampler.choose(row, text, random) == 2
    )
    moved = row.copy()
    moved[2] -= 0.01
    second = sampler.choose(moved, text, random)
    assert second != 2
    assert logit_gap(row, second, 2, lambda moved: sampler.choose(moved, text, random)) < 0.01


def test_largest_change_is_over_all_logits_and_knows_infinity() -> None:
    other = ROW.copy()
    assert largest_change(ROW, other) == 0.0
    other[3] = 1.25
    assert largest_change(ROW, other) == 0.25
    other[4] = 0.0
    assert largest_change(ROW, other) == float("inf")


def test_a_change_that_a_whole_row_shares_is_no_noise() -> None:
    rows = np.array([[0, 1, 2, 3], [3, 2, 1, 0]], dtype=np.float32)
    assert change_of_distances(rows, rows + 5) == 0.0
    moved = rows.copy()
    moved[1, 2] += 0.25
    assert change_of_distances(rows, moved) == 0.25
    assert change_of_distances(rows, moved + np.array([[1], [7]], dtype=np.float32)) == 0.25


def test_only_likely_tokens_count_as_noise() -> None:
    row = np.arange(30, dtype=np.float32)[np.newaxis]
    moved = row.copy()
    moved[0, 3] += 9
    assert change_of_distances(row, moved) == 0.0
    moved[0, 20] += 1
    assert change_of_distances(row, moved) == 1.0


def test_impossible_tokens_are_no_noise() -> None:
    rows = np.array([[1.0, -np.inf, 0.5]], dtype=np.float32)
    assert change_of_distances(rows, rows.copy()) == 0.0


def test_the_first_difference_may_be_an_end() -> None:
    assert first_difference([1, 2, 3], [1, 2, 3]) is None
    assert first_difference([1, 2, 3], [1, 5, 3]) == 1
    assert first_difference([1, 2, 3], [1, 2]) == 2
    assert first_difference([], [7]) == 0


@pytest.mark.parametrize("size", [0.0, 0.01, 0.1])
def test_the_noise_is_what_batches_do_to_logits(size: float, tmp_path: Path) -> None:
    subject = toy_subject(tmp_path, backend=SpoiledBackend(target_logits=WORDS, spoil=shaking(size)))
    noise = Noise(subject)
    prompt = [3, 1, 4]
    noise.measure(prompt, subject.plain(prompt, 24).tokens)
    assert 1.4 * size <= noise.largest <= 2.001 * size
    assert noise.threshold == max(2 * noise.largest, LEAST_THRESHOLD)
    subject.engine.session.check()
    subject.engine.close()


def test_however_noisy_the_machine_far_logits_are_no_tie(tmp_path: Path) -> None:
    subject = toy_subject(tmp_path, backend=SpoiledBackend(target_logits=WORDS, spoil=shaking(5.0)))
    noise = Noise(subject)
    noise.measure([3, 1, 4], [5, 6, 7])
    assert noise.largest > 4
    assert noise.threshold == MOST_THRESHOLD
    subject.engine.close()


def test_noise_is_measured_up_to_the_end_of_the_context(tmp_path: Path) -> None:
    subject = toy_subject(tmp_path, backend=ToyBackend(target_logits=WORDS))
    prompt = [1] * 250
    answer = subject.plain(prompt, 24).tokens
    assert len(answer) == 6
    noise = Noise(subject)
    noise.measure(prompt, answer)
    assert noise.largest == 0.0
    subject.engine.close()
