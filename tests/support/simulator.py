"""A machine and a text made of scripted costs and scripted luck, for the policy to live in.

A `World` fixes, for every position of the text, whether each drafter would be right there and how sure it would
say it is. So every choice of drafter and length meets the same text, and the best fixed one can be found by
playing them all. Token t of the true text is 2 t; a wrong one is 2 t + 1.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from specdec_cli.draft.costs import CostProfile, RowCurve
from specdec_cli.draft.values import Budget, Draft, DrafterNeeds, Outcome

LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
CALIBRATED_ROWS = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16)


def curve(points: dict[int, float], unit: float = 1.0) -> Callable[[int], float]:
    """Seconds for n rows: `points` in units of `unit`, straight lines between and beyond them."""
    known = sorted(points)

    def seconds(rows: int) -> float:
        if rows in points:
            return points[rows] * unit
        left = max((n for n in known if n < rows), default=known[0])
        right = min((n for n in known if n > rows), default=known[-1])
        if right < rows:
            left, right = known[-2], known[-1]
        slope = (points[right] - points[left]) / (right - left)
        return (points[left] + slope * (rows - left)) * unit

    return seconds


@dataclass(frozen=True)
class Script:
    """What one drafter would do at each position: whether it has anything to say, is right, and how sure it is."""

    speaks: Sequence[bool]
    right: Sequence[bool]
    sure: Sequence[float]
    run: Sequence[int] = field(init=False)
    """How many tokens in a row it would be right from each position on."""

    def __post_init__(self) -> None:
        run = [0] * (len(self.right) + 1)
        for i in reversed(range(len(self.right))):
            run[i] = run[i + 1] + 1 if self.right[i] else 0
        object.__setattr__(self, "run", run)


def model_script(
    rates: Sequence[float], seed: int, *, informative: bool = True, sharpness: float = 1.3
) -> Script:
    """A draft model that is right with the given chance at each position.

    Its confidences are spread around that chance and true, or, when not `informative`, pure noise.
    """
    chance = random.Random(seed)
    right, sure = [], []
    for rate in rates:
        confidence = chance.betavariate(sharpness * rate + 1e-3, sharpness * (1 - rate) + 1e-3)
        right.append(chance.random() < (confidence if informative else rate))
        sure.append(confidence if informative else chance.random())
    return Script([True] * len(right), right, sure)


def copy_script(length: int, seed: int, *, share: float, segment: int = 40, noise: float = 0.25) -> Script:
    """An n-gram drafter: in segments that copy, right 97 % of the time; elsewhere it sometimes has a bad match."""
    chance = random.Random(seed)
    speaks: list[bool] = []
    right: list[bool] = []
    sure: list[float] = []
    while len(right) < length:
        copies = chance.random() < share
        for place in range(max(4, int(chance.expovariate(1 / segment)))):
            speaks.append((copies and place >= 2) or chance.random() < noise)
            right.append(chance.random() < (0.97 if copies else 0.12))
            sure.append(min(0.97, 0.5 + 0.05 * place) if copies else 0.35)
    return Script(speaks[:length], right[:length], sure[:length])


@dataclass(frozen=True)
class World:
    """Costs and luck. `target` and `draft`: seconds for n tokens in one decode."""

    name: str
    target: Callable[[int], float]
    draft: Callable[[int], float]
    model: Script | None
    ngram: Script | None = None
    noise: float = 0.06
    """Relative standard deviation of every decode; one in fifty takes three times as long."""
    seed: int = 0

    def profile(self) -> CostProfile:
        """What a calibration on this machine would find, with its own errors."""
        chance = random.Random(self.seed + 1)
        target = {n: self.target(n) * chance.gauss(1.0, 0.03) for n in CALIBRATED_ROWS}
        draft = {n: self.draft(n) * chance.gauss(1.0, 0.03) for n in (1, 2, 8, 32)}
        return CostProfile(RowCurve(target), None if self.model is None else RowCurve(draft))


class ScriptedDrafter:
    """Plays a script. Also the draft model: it lags, and drafting takes time."""

    needs = DrafterNeeds()
    notice = None

    def __init__(
        self,
        name: str,
        script: Script,
        seconds_for: Callable[[int], float] | None = None,
        noisy: Callable[[float], float] = lambda seconds: seconds,
    ) -> None:
        self.name = name  # type: ignore[misc]
        self.seconds = 0.0
        self.true_seconds = 0.0
        """Without the noise."""
        self.lag = 1
        self._script = script
        self._seconds_for = seconds_for
        self._noisy = noisy
        self._position = 0
        self._drafted = 0

    def begin(self, tokens: Sequence[int]) -> None:
        self._position = 0

    def prefill(self) -> None:
        self.lag = 1

    def skip(self, window: int) -> None:
        self.lag = min(self.lag, window)

    def observe(self, tokens: Sequence[int]) -> None:
        # Of its own draft everything but the last token is decoded; the target's own token never is.
        known = min(sum(token % 2 == 0 for token in tokens[: max(self._drafted - 1, 0)]), len(tokens) - 1)
        self.lag += len(tokens) - known
        self._drafted = 0
        self._position += len(tokens)

    def propose(self, budget: Budget) -> Draft:
        script, start = self._script, self._position
        if not script.speaks[start]:
            return Draft()
        tokens: list[int] = []
        sure: list[float] = []
        derailed = False
        for position in range(start, start + min(budget.max_tokens, 32)):
            derailed = derailed or not script.right[position]
            tokens.append(2 * position + derailed)
            # Off the true text it is as sure as on it.
            sure.append(script.sure[position])
            if budget.keep_going is not None and not budget.keep_going(len(tokens), sure[-1]):
                break
        if self._seconds_for is not None:
            took = self._seconds_for(self.lag) + (len(tokens) - 1) * self._seconds_for(1)
            self.true_seconds += took
            self.seconds += self._noisy(took)
            self.lag, self._drafted = 0, len(tokens)
        return Draft.chain(tokens, confidences=sure, source=self.name)

    def accept(self, outcome: Outcome) -> None:
        self.observe(outcome.tokens)

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Played:
    """A policy's run."""

    tokens: int
    seconds: float
    rounds: int
    native_seconds_lost: float = 0.0


def play_policy(
    world: World, make_policy: Callable[..., object], rounds: int, draft_max: int = 16
) -> tuple[Played, object]:
    """Play `rounds` rounds with the policy that `make_policy(free, costly, profile, draft_max)` returns."""
    chance = random.Random(world.seed + 2)

    def noisy(seconds: float) -> float:
        return seconds * max(0.5, chance.gauss(1.0, world.noise)) * (3.0 if chance.random() < 0.02 else 1.0)

    costly = [] if world.model is None else [ScriptedDrafter("model", world.model, world.draft, noisy)]
    free = [] if world.ngram is None else [ScriptedDrafter("ngram", world.ngram)]
    policy = make_policy(free, costly, world.profile(), draft_max)
    policy.begin([0])  # type: ignore[attr-defined]
    position, seconds = 0, 0.0
    for _ in range(rounds):
        before = policy.seconds  # type: ignore[attr-defined]
        draft = policy.propose(Budget(draft_max))  # type: ignore[attr-defined]
        assert len(draft) <= draft_max
        accepted = 0
        while accepted < len(draft) and draft.tokens[accepted] == 2 * (position + accepted):
            accepted += 1
        tokens = tuple(2 * (position + i) for i in range(accepted + 1))
        took = world.target(1 + len(draft))
        seconds += took
        position += len(tokens)
        policy.accept(  # type: ignore[attr-defined]
            Outcome(
                draft,
                tuple(range(accepted)),
                tokens,
                target_seconds=noisy(took),
                draft_seconds=policy.seconds - before,  # type: ignore[attr-defined]
            )
        )
    seconds += sum(drafter.true_seconds for drafter in costly)
    return Played(position, seconds, rounds), policy


def play_fixed(world: World, kind: str, length: int, tokens: int) -> float:
    """Seconds for `tokens` tokens with one drafter ("none", "model", "ngram", "both") at one draft length."""
    position, seconds, lag = 0, 0.0, 1
    while position < tokens:
        ngram = world.ngram if kind in ("ngram", "both") else None
        use_ngram = ngram is not None and ngram.speaks[position]
        script = ngram if use_ngram else world.model if kind in ("model", "both") else None
        if script is None:
            seconds += world.target(1)
            position, lag = position + 1, lag + 1
            continue
        accepted = min(length, script.run[position])
        seconds += world.target(1 + length)
        if use_ngram:
            lag += accepted + 1
        else:
            seconds += world.draft(lag) + (length - 1) * world.draft(1)
            lag = 2 if accepted == length else 1
        position += accepted + 1
    return seconds * tokens / position


def best_fixed(world: World, tokens: int) -> tuple[str, int, float]:
    """The best drafter and length in hindsight, and its seconds for `tokens` tokens."""
    kinds = ["none"]
    kinds += ["model"] if world.model else []
    kinds += ["ngram"] if world.ngram else []
    kinds += ["both"] if world.model and world.ngram else []
    results = [
        (kind, length, play_fixed(world, kind, length, tokens))
        for kind in kinds
        for length in (LENGTHS if kind != "none" else (1,))
    ]
    return min(results, key=lambda result: result[2])
