"""The best that any policy could have done with these drafters on this machine: the bound to hold one against.

From the recorded rounds of a drafter with a long fixed draft follows, for every token of the answer, whether that
drafter would have proposed it: accepted tokens yes, the token after them no. A policy with perfect foresight
knows how far each draft will be right, so its time is that of the shortest path from the first token to the last,
where an edge is one round: n drafted tokens cost n draft steps and a decode of n + 1 rows, and bring those of them
that are right and one of the target's own. (Tokens that are wrong may be worth drafting too: 4 rows can cost less
than 2.)

It is a bound: a draft's catching up after a pause, probing, and all time outside native calls are free here, and
where a whole draft was accepted, the next token counts as right although nobody knows. For n-grams it is an
estimate: a draft that began elsewhere might have continued another match.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from specdec_cli.bench.rounds import Recording
from specdec_cli.bench.values import RoundRecord


@dataclass(frozen=True)
class Foresight:
    """What perfect foresight makes of one text, in seconds of native time."""

    tokens: int
    plain_seconds: float
    best_seconds: float
    rounds: int
    drafted: int

    @property
    def speedup(self) -> float:
        """Over plain decoding."""
        return self.plain_seconds / self.best_seconds if self.best_seconds > 0 else 1.0


def tokens_right(rounds: Sequence[RoundRecord]) -> list[bool]:
    """For every token of the answer, whether the drafter of these rounds would have proposed it."""
    right: list[bool] = []
    for record in rounds:
        accepted = min(record.accepted, record.tokens)
        right += [True] * accepted
        # The target's own token: the draft had another one there, or (all of it accepted) none yet.
        right += [record.drafted > 0 and record.accepted == record.drafted] * (record.tokens - accepted)
    return right


def best_possible(
    right: Mapping[str, Sequence[bool]],
    target_seconds: Callable[[int], float],
    step_seconds: Mapping[str, float],
    longest: int,
) -> Foresight:
    """The shortest way through a text.

    `right`: per drafter, as `tokens_right` says; all of the same length. `target_seconds(n)`: of a decode of n
    rows. `step_seconds`: per drafter, what one drafted token costs. `longest`: no draft holds more tokens.
    Raises `ValueError` when the drafters' texts differ in length.
    """
    length = max((len(tokens) for tokens in right.values()), default=0)
    if any(len(tokens) != length for tokens in right.values()):
        raise ValueError("the drafters answered texts of different lengths")
    decode = [0.0, *(target_seconds(rows) for rows in range(1, longest + 2))]
    best = [0.0] * (length + 1)
    choice = [_Choice(0, 0)] * length
    run = dict.fromkeys(right, 0)
    for start in reversed(range(length)):
        best[start] = decode[1] + best[start + 1]
        for name, tokens in right.items():
            run[name] = run[name] + 1 if tokens[start] else 0
            # The round's last token is the target's own, also where the draft would have had it right.
            for drafted in range(1, min(longest, length - start - 1) + 1):
                accepted = min(run[name], drafted)
                seconds = drafted * step_seconds[name] + decode[drafted + 1] + best[start + accepted + 1]
                if seconds < best[start]:
                    best[start], choice[start] = seconds, _Choice(drafted, accepted)
    taken = _walk(choice)
    return Foresight(length, length * decode[1], best[0], len(taken), sum(one.drafted for one in taken))


def best_of_recordings(
    recorded: Sequence[Recording],
    variants: Mapping[str, str],
    target_seconds: Callable[[int], float],
    step_seconds: Mapping[str, float],
    longest: int,
) -> Foresight | None:
    """The bound over several answers together, from the recordings of some variants.

    `variants`: which variant's rounds tell about which drafter, one for each; choose fixed and long ones. Answers
    that not all of them gave alike (of other lengths) are left out; None when nothing is left.
    """
    by_answer: dict[tuple[str, int], dict[str, list[bool]]] = {}
    for recording in recorded:
        if recording.variant in variants:
            answer = by_answer.setdefault((recording.task, recording.prompt), {})
            answer[variants[recording.variant]] = tokens_right(recording.rounds)
    bounds = [
        best_possible(right, target_seconds, step_seconds, longest)
        for right in by_answer.values()
        if len(right) == len(variants) and len({len(tokens) for tokens in right.values()}) == 1
    ]
    if not bounds:
        return None
    return Foresight(
        tokens=sum(bound.tokens for bound in bounds),
        plain_seconds=sum(bound.plain_seconds for bound in bounds),
        best_seconds=sum(bound.best_seconds for bound in bounds),
        rounds=sum(bound.rounds for bound in bounds),
        drafted=sum(bound.drafted for bound in bounds),
    )


@dataclass(frozen=True)
class _Choice:
    """What to do from a token on."""

    drafted: int
    accepted: int


def _walk(choice: Sequence[_Choice]) -> list[_Choice]:
    """The rounds of the best way."""
    taken: list[_Choice] = []
    position = 0
    while position < len(choice):
        taken.append(choice[position])
        position += choice[position].accepted + 1
    return taken
