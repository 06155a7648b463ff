"""Exact output distributions: every random decision of a run is enumerated with its probability.

`outcomes(run)` replays `run` once for each sequence of decisions. Inside it the real judge works with the real
sampler; only what would consult the random source asks the `Script` instead: whether a candidate is kept (with
the probability that `acceptance_probability` gave), and which token is drawn (with the distribution's own
probabilities).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from specdec_cli.sampling import sampler as sampler_module
from specdec_cli.sampling.distribution import Distribution
from specdec_cli.verify import walk


class Script:
    """Decides as it was told, then takes the first possibility; remembers what else was possible."""

    def __init__(self, told: Sequence[int] = ()) -> None:
        self.told = list(told)
        self.taken: list[int] = []
        self.possibilities: list[int] = []
        self.weight = 1.0

    def decide(self, weights: Sequence[float]) -> int:
        """An index into `weights`, never one of weight zero. The weights need not sum to 1."""
        possible = [index for index, weight in enumerate(weights) if weight > 0]
        place = len(self.taken)
        choice = self.told[place] if place < len(self.told) else 0
        self.taken.append(choice)
        self.possibilities.append(len(possible))
        self.weight *= weights[possible[choice]]
        return possible[choice]

    def draw(self, distribution: Distribution) -> int:
        return distribution.token_at(self.decide(distribution.probabilities.tolist()))

    def following(self) -> list[int] | None:
        """The next sequence of decisions, None after the last."""
        taken = list(self.taken)
        while taken and taken[-1] + 1 == self.possibilities[len(taken) - 1]:
            taken.pop()
        if not taken:
            return None
        taken[-1] += 1
        return taken


def outcomes(run: Callable[[Script], Hashable]) -> dict[Any, float]:
    """Every outcome of `run` with its probability."""
    result: dict[Any, float] = defaultdict(float)
    told: list[int] | None = []
    with _decided_by_a_script() as scripts:
        while told is not None:
            script = Script(told)
            scripts.append(script)
            result[run(script)] += script.weight
            told = script.following()
    return dict(result)


@contextmanager
def _decided_by_a_script() -> Iterator[list[Script]]:
    """Inside, the last script of the list decides whatever chance decides outside."""
    acceptance_probability = walk.acceptance_probability
    scripts: list[Script] = []

    def accepted(target: Distribution, proposal: Distribution, token: int) -> float:
        probability = acceptance_probability(target, proposal, token)
        return (1.0, 0.0)[scripts[-1].decide([probability, 1.0 - probability])]

    with (
        mock.patch.object(walk, "acceptance_probability", accepted),
        mock.patch.object(Distribution, "draw", lambda self, uniform: scripts[-1].draw(self)),
        mock.patch.object(sampler_module, "race", lambda distribution, *rest: scripts[-1].draw(distribution)),
    ):
        yield scripts
