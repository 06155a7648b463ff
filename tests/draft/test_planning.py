from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest

from specdec_cli.draft.acceptance import CONFIDENCE_EDGES, AcceptanceModel, bucket_of
from specdec_cli.draft.planning import best_prefix, break_even, make_plan
from specdec_cli.draft.probing import ProbeSchedule


def taught(rates: Sequence[float], rounds: int = 3000, seed: int = 0) -> AcceptanceModel:
    """A model that saw drafts of up to 8 tokens, right with `rates[i]` in confidence bucket 2, 6 or 11."""
    chance = random.Random(seed)
    acceptance = AcceptanceModel()
    for _ in range(rounds):
        seen = []
        for position in range(8):
            kind = chance.randrange(3)
            seen.append((2, 6, 11)[kind])
            right = chance.random() < rates[kind]
            acceptance.learn(seen[-1], position, right)
            if not right:
                break
        acceptance.saw(seen)
    return acceptance


def test_rates_by_confidence_are_learned() -> None:
    acceptance = taught((0.2, 0.5, 0.95))
    assert acceptance.chance(2, 0) == pytest.approx(0.2, abs=0.12)
    assert acceptance.chance(6, 0) == pytest.approx(0.5, abs=0.12)
    assert acceptance.chance(11, 0) == pytest.approx(0.95, abs=0.06)
    shape = acceptance.shape(later=True)
    assert sum(shape) == pytest.approx(1.0)
    assert min(shape[2], shape[6], shape[11]) > 0.2
    assert acceptance.mean_rate() == pytest.approx(0.55, abs=0.15)


def test_a_position_that_is_less_often_right_than_it_sounds_is_learned() -> None:
    chance = random.Random(1)
    acceptance = AcceptanceModel()
    for _ in range(2000):
        for position in range(3):
            right = chance.random() < (0.5 if position == 2 else 0.9)
            acceptance.learn(9, position, right)
            if not right:
                break
    assert acceptance.chance(9, 2) < 0.8 * acceptance.chance(9, 0)


def test_a_sudden_change_is_followed_within_a_few_tokens() -> None:
    acceptance = AcceptanceModel()
    for _ in range(500):
        acceptance.learn(11, 0, True)
    assert acceptance.chance(11, 0) > 0.97
    for _ in range(25):
        acceptance.learn(11, 0, False)
    assert acceptance.chance(11, 0) < 0.5


def test_confidences_fall_into_buckets() -> None:
    assert bucket_of(0.0) == 0
    assert bucket_of(1.0) == len(CONFIDENCE_EDGES)
    assert [bucket_of(edge) for edge in CONFIDENCE_EDGES] == list(range(1, len(CONFIDENCE_EDGES) + 1))


def value_of_fixed_length(
    chance: float, costs: Sequence[float], step: float, rate: float, length: int
) -> float:
    """By hand: a draft of fixed length, all tokens alike, before its first decode is paid for."""
    tokens = sum(chance**i for i in range(1, length + 1))
    return tokens - rate * ((length - 1) * step + costs[length + 1] - costs[1])


@pytest.mark.parametrize(
    ("costs", "step"),
    [
        ([0.0] + [1 + 0.05 * n for n in range(9)], 0.1),
        ([0.0, 1.0, 1.8, 1.7, 1.6, 1.75, 1.9, 2.05, 2.2, 2.4], 0.3),
        ([0.0, 1.0, 5.0, 5.0, 5.1, 5.1, 5.2, 5.2, 5.3, 5.3], 0.05),
    ],
)
@pytest.mark.parametrize("chance", [0.3, 0.7, 0.95])
def test_a_plan_for_uniform_tokens_is_the_best_fixed_length(
    costs: list[float], step: float, chance: float
) -> None:
    acceptance = AcceptanceModel()
    acceptance.rates = [chance] * len(acceptance.rates)
    plan = make_plan(acceptance, costs, step, 1.0, 8)
    values = [value_of_fixed_length(chance, costs, step, 1.0, n) for n in range(1, 9)]
    assert plan.value == pytest.approx(max(values), abs=0.03)
    length = 1
    while length < 8 and chance**length > plan.thresholds[length]:
        length += 1
    assert values[length - 1] == pytest.approx(max(values), abs=0.05)


def test_a_plan_looks_beyond_a_step_that_does_not_pay_by_itself() -> None:
    """3 rows cost as much as 8: the second token alone is not worth it, seven are."""
    costs = [0.0, 1.0, 1.1, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    acceptance = AcceptanceModel()
    acceptance.rates = [0.95] * len(acceptance.rates)
    plan = make_plan(acceptance, costs, 0.01, 1.0, 8)
    assert value_of_fixed_length(0.95, costs, 0.01, 1.0, 2) < value_of_fixed_length(0.95, costs, 0.01, 1.0, 1)
    assert plan.thresholds[1] < 0.95


def test_a_plan_that_watches_confidence_is_worth_more_than_any_fixed_length() -> None:
    """Against exhaustive play: two kinds of tokens, drafts of up to 4."""
    acceptance = taught((0.05, 0.5, 0.97), rounds=4000)
    costs, step, rate = [0.0] + [1 + 0.2 * n for n in range(5)], 0.1, 1.0
    plan = make_plan(acceptance, costs, step, rate, 4)
    shapes = (acceptance.shape(False), acceptance.shape(True))

    def value_of_stopping_rule(thresholds: Sequence[float]) -> float:
        def go(drafted: int, survival: float) -> float:
            if drafted == 4 or (drafted > 0 and survival <= thresholds[drafted]):
                return -rate * (costs[drafted + 1] - costs[1])
            total = -rate * step if drafted else 0.0
            for bucket, share in enumerate(shapes[drafted > 0]):
                if share > 0.004:
                    after = survival * acceptance.chance(bucket, drafted)
                    total += share * (after + go(drafted + 1, after))
            return total

        return go(0, 1.0)

    here = value_of_stopping_rule(plan.thresholds)
    others = [
        value_of_stopping_rule((2.0, a, b, c))
        for a, b, c in itertools.product((0.0, 0.3, 0.9, 2.0), repeat=3)
    ]
    assert here >= max(others) - 0.03
    assert plan.value == pytest.approx(here, abs=0.08)


def test_the_best_prefix_skips_a_step_and_knows_when_nothing_pays() -> None:
    costs = [0.0, 1.0, 1.8, 1.7, 1.6, 1.9]
    assert best_prefix([0.6, 0.5, 0.4, 0.1], costs, 1.0) == (3, pytest.approx(0.9))
    assert best_prefix([0.2, 0.1, 0.05], costs, 1.0) == (0, 0.0)
    assert best_prefix([], costs, 1.0) == (0, 0.0)
    assert best_prefix([0.6, 0.5, 0.4], costs, 1.0, token_value=0.3) == (0, 0.0)


def test_break_even_is_where_the_best_length_neither_gains_nor_loses() -> None:
    costs = [0.0, 1.0, 1.2, 1.4, 1.6]
    chance = break_even(costs, 0.2, 3)
    assert chance is not None
    gains = [sum(chance**i for i in range(n + 1)) - (n * 0.2 + costs[n + 1]) for n in (1, 2, 3)]
    assert max(gains) == pytest.approx(0.0, abs=1e-4)
    assert break_even([0.0, 1.0, 2.1, 3.2, 4.3], 0.5, 3) is None


def test_probes_become_rarer_and_stay_within_their_budget() -> None:
    schedule = ProbeSchedule()
    lost, rounds_of_probes = 0.0, []
    for number in range(5000):
        if schedule.is_due(0.8, 1.0):
            rounds_of_probes.append(number)
            schedule.probed(0.8, promising=False)
            lost += 0.8
        schedule.pass_round(1.0)
        assert lost <= 0.012 * number + 2.0
    gaps = [b - a for a, b in itertools.pairwise(rounds_of_probes)]
    assert gaps[-1] >= 50
    assert lost / 5000 < 0.02


def test_a_promising_probe_is_followed_by_another_at_once() -> None:
    schedule = ProbeSchedule()
    for _ in range(400):
        if schedule.is_due(0.1, 1.0):
            schedule.probed(0.1, promising=False)
        schedule.pass_round(1.0)
    schedule.probed(-0.5, promising=True)
    schedule.pass_round(1.0)
    assert schedule.is_due(0.1, 1.0)
    schedule.probed(0.1, promising=False)
    schedule.pass_round(1.0)
    assert not schedule.is_due(0.1, 1.0)


def test_what_a_drafter_saved_pays_for_probing_it_again() -> None:
    poor, rich = ProbeSchedule(), ProbeSchedule()
    for _ in range(50):
        poor.pass_round(1.0)
        rich.pass_round(1.0)
        rich.drafted(1.0)
    for _ in range(10):
        rich.pass_round(1.0)
    assert not poor.is_due(6.0, 1.0)
    assert rich.is_due(6.0, 1.0)
