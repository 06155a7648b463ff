"""What came out: one value for each part, each with its verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["identical", "tie", "different"]
"""Token for token the same (or no difference found, where chance decides); different only where rounding decides
between two tokens; or different."""

LOGIT_TOLERANCE = 1e-3
"""The largest change of a logit after a rollback that is still none."""
FALSE_ALARM_RATE = 1e-3
"""How often the two-sample test finds a difference where there is none."""


@dataclass(frozen=True)
class ShownToken:
    """A token and its text."""

    id: int
    text: str


@dataclass(frozen=True)
class Difference:
    """The first token in which two answers to the same prompt differ."""

    prompt: int
    """Which prompt, counted from 1."""
    kind: str
    position: int
    """Which token of the answer, counted from 1."""
    before: str
    """The end of the text that both answers share."""
    expected: ShownToken | None
    """Plain decoding's token; None when its answer had ended."""
    found: ShownToken | None
    """The drafted one; None when that answer had ended."""
    gap: float
    """The target's logit gap: how far apart the two tokens are for it, at this place, in a context made for this
    question. Sampling: chance taken in (`ties.logit_gap`). Infinite when nothing brings them together."""
    verdict: Literal["tie", "different"]
    seed: int | None = None
    """The seed of both answers; None when they are greedy."""


@dataclass(frozen=True)
class GreedyReport:
    """Plain and drafted answers, token by token."""

    prompts: int
    tokens: int
    """In the plain answers."""
    drafted: int
    accepted: int
    differences: tuple[Difference, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of its differences."""
        return worst(difference.verdict for difference in self.differences)


@dataclass(frozen=True)
class SameSeedReport:
    """Under *match* at temperature 1: a drafted answer against plain decoding's, and against itself."""

    answers: int
    """How many answers; each was drafted twice."""
    tokens: int
    """In the plain answers."""
    differences: tuple[Difference, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of its differences."""
        return worst(difference.verdict for difference in self.differences)


@dataclass(frozen=True)
class ShareDifference:
    """The token whose share in the two samples differs most, for the size of the samples."""

    prompt: int
    """Which prompt, counted from 1."""
    position: int
    """Which token of the answer, counted from 1."""
    token: ShownToken | None
    """None: all the rare ones together."""
    plain_share: float
    drafted_share: float


@dataclass(frozen=True)
class SampledReport:
    """The first tokens of many answers at temperature 1: plain decoding's sample and the drafted one."""

    rule: Literal["match", "reject"]
    prompts: int
    samples: int
    """Answers to each prompt, in each of the two samples."""
    first_tokens: int
    """How many tokens of each answer were looked at."""
    drafted: int
    accepted: int
    p_value: float
    """How often chance alone makes samples from one distribution differ this much."""
    largest: ShareDifference | None

    @property
    def verdict(self) -> Verdict:
        """Different when chance would do this less often than the false-alarm rate."""
        return "different" if self.p_value <= FALSE_ALARM_RATE else "identical"


@dataclass(frozen=True)
class RollbackCase:
    """One rollback: after it, the logits of the next token against those of a context that never saw the rejected."""

    model: Literal["target", "draft"]
    position: int
    """How many tokens stayed in the cache."""
    rejected: int
    change: float
    """The largest change of a logit; infinite when the cache could not drop the tokens."""


@dataclass(frozen=True)
class RollbackReport:
    """Every rollback that was tried."""

    cases: tuple[RollbackCase, ...]

    @property
    def largest(self) -> RollbackCase:
        """The worst of them."""
        return max(self.cases, key=lambda case: case.change)

    @property
    def verdict(self) -> Verdict:
        """Different when one logit changed by more than the tolerance, or is no number any more."""
        kept = all(case.change <= LOGIT_TOLERANCE for case in self.cases)
        return "identical" if kept else "different"


@dataclass(frozen=True)
class ProofReport:
    """All parts. `sampled` is None when no samples were asked for."""

    drafter: str
    draft_max: int
    noise: float
    """By how much the distance between two likely tokens changed at most, on this machine, when several rows were
    decoded at once instead of one."""
    tie_threshold: float
    """Two logits closer than this are a tie."""
    greedy: GreedyReport
    same_seed: SameSeedReport
    sampled: SampledReport | None
    rollback: RollbackReport
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """The worst of the parts."""
        parts = (self.greedy, self.same_seed, self.sampled, self.rollback)
        return worst(part.verdict for part in parts if part is not None)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Of the greedy answers, then of the sampled ones; those that no rounding explains come first."""
        found = (*self.greedy.differences, *self.same_seed.differences)
        return tuple(sorted(found, key=lambda difference: difference.verdict == "tie"))


_BY_WEIGHT: tuple[Verdict, ...] = ("identical", "tie", "different")


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The heaviest of them; identical for none."""
    return max(verdicts, key=_BY_WEIGHT.index, default="identical")
