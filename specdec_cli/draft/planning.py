"""How far to draft: an optimal-stopping problem, solved backwards over the measured costs.

After i drafted tokens the draft survives up to there with probability S, the product of its tokens' chances.
Stopping costs the verification of i + 1 rows; going on costs a draft step, and brings a token of some bucket of
confidence, which is right with that bucket's chance. What is maximised is

    expected tokens - rate * seconds,

with `rate` the tokens per second that the generation achieves anyway: the exchange rate at which a second is
worth spending (Dinkelbach's transformation of a ratio; the average-reward criterion of renewal theory). The value
of going on includes everything that may follow, so a token that does not pay by itself, because the next row
count is a step up, is drafted when it pays together with the ones after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from specdec_cli.draft.acceptance import CERTAIN, AcceptanceModel

_GRID_STEP = 0.1
_GRID = 40
"""Survival is followed on the grid exp(-0.1 g), down to 2 %; below that a draft ends."""
_SURVIVAL = np.exp(-_GRID_STEP * np.arange(_GRID))
_NEVER = 2.0
_THRESHOLDS = (_NEVER, *_SURVIVAL[:-1].tolist(), 0.0)
"""Where to stop, by how many points of the grid, from the top, are worth going on from."""


@dataclass(frozen=True)
class Plan:
    """When to draft, and when to stop."""

    value: float
    """Expected gain of a draft over plain decoding in this round, in tokens, before the draft's first decode
    is paid for."""
    thresholds: tuple[float, ...]
    """After i drafted tokens (index i), go on if the survival is greater than this."""


def make_plan(
    acceptance: AcceptanceModel,
    target_seconds: Sequence[float],
    step_seconds: float,
    rate: float,
    longest: int,
) -> Plan:
    """Solve for drafts of up to `longest` tokens.

    `target_seconds[n]`: of a decode of n rows, n = 0 … longest + 1. `step_seconds`: of one draft decode.
    `rate`: tokens per second.
    """
    shapes = (np.array(acceptance.shape(False)), np.array(acceptance.shape(True)))
    rates = np.array(acceptance.rates)
    moves: dict[tuple[bool, float], _Move] = {}
    stop = -rate * np.array(target_seconds)
    go_on = np.empty((longest, _GRID))
    value_after = np.full(2 * _GRID, stop[longest + 1])
    for drafted in range(longest - 1, -1, -1):
        # In steps of 5 %, so that most positions share one matrix.
        later, factor = drafted > 0, round(20.0 * acceptance.factor(drafted)) / 20.0
        move = moves.get((later, factor))
        if move is None:
            move = moves[later, factor] = _move(shapes[later], np.minimum(rates * factor, CERTAIN))
        here = go_on[drafted]
        np.dot(move.spread, value_after, out=here)
        here += move.tokens
        if drafted > 0:
            here -= rate * step_seconds
        np.maximum(here, stop[drafted + 1], out=value_after[:_GRID])
        value_after[_GRID:] = stop[drafted + 1]
    worth = np.count_nonzero(go_on > stop[1:-1, np.newaxis], axis=1)
    thresholds = [_THRESHOLDS[count] for count in worth.tolist()]
    return Plan(float(go_on[0, 0] - stop[1]), (*thresholds, _NEVER))


class _Move(NamedTuple):
    """What one more token does to the value, at every survival of the grid."""

    spread: npt.NDArray[np.float64]
    """Shape (grid, 2 grid): how likely the survival moves from one point to another, the token being right or not."""
    tokens: npt.NDArray[np.float64]
    """Shape (grid,): the token itself."""


def _move(shape: npt.NDArray[np.float64], chances: npt.NDArray[np.float64]) -> _Move:
    """For a token whose confidence falls into bucket b with probability shape[b], and is then right with chances[b]."""
    down = np.minimum(-np.log(chances) / _GRID_STEP, _GRID - 1.001)
    whole = down.astype(np.int64)
    beyond = down - whole
    kernel = np.bincount(whole, shape * (1.0 - beyond), _GRID)
    kernel[1:] += np.bincount(whole, shape * beyond, _GRID - 1)
    # Row g is the kernel shifted by g: in memory, each row begins one place later than its predecessor ended.
    spread = np.zeros(_GRID * (2 * _GRID + 1))
    spread.reshape(_GRID, 2 * _GRID + 1)[:, :_GRID] = kernel
    return _Move(spread[: 2 * _GRID * _GRID].reshape(_GRID, 2 * _GRID), float(shape @ chances) * _SURVIVAL)


def best_prefix(
    survivals: Sequence[float], target_seconds: Sequence[float], rate: float, token_value: float = 1.0
) -> tuple[int, float]:
    """How many tokens of a draft to verify, and the gain over verifying none, in tokens.

    `survivals[i]`: the chance that token i and all before it are right. `token_value`: what a token is worth
    when it brings costs of its own. The draft itself is paid for already.
    """
    best_length, best_value = 0, 0.0
    tokens = 0.0
    plain = target_seconds[1]
    for length, survival in enumerate(survivals, 1):
        tokens += survival * token_value
        value = tokens - rate * (target_seconds[length + 1] - plain)
        if value > best_value:
            best_length, best_value = length, value
    return best_length, best_value


def break_even(target_seconds: Sequence[float], step_seconds: float, longest: int) -> float | None:
    """The least chance per token at which drafting pays at some length; None when not even certainty does."""
    plain = target_seconds[1]
    best: float | None = None
    for length in range(1, longest + 1):
        extra = (length * step_seconds + target_seconds[length + 1]) / plain - 1.0
        if extra >= length:
            continue
        low, high = 0.0, 1.0
        for _ in range(20):
            middle = (low + high) / 2
            gained = sum(middle**i for i in range(1, length + 1))
            low, high = (middle, high) if gained < extra else (low, middle)
        best = high if best is None else min(best, high)
    return best
