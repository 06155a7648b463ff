"""One drafter under the policy: what is known of its tokens, and what its next draft would be worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from specdec_cli.draft.acceptance import UNKNOWN, AcceptanceModel, bucket_of
from specdec_cli.draft.costs import CostProfile
from specdec_cli.draft.ngram import common_prefix
from specdec_cli.draft.planning import Plan, best_prefix, make_plan
from specdec_cli.draft.probing import ProbeSchedule
from specdec_cli.draft.values import Budget, Draft, Drafter, Outcome

_PLAN_ROUNDS = 16
"""A plan is made anew after this many rounds, and earlier when the rate changed or a probe was made."""
_PLAN_RATE_CHANGE = 0.25
_PLAN_LEAST = 4
_CATCH_UP_ROUNDS = 32
"""A long catch-up is an investment that this many rounds pay off."""
_USUAL_GAIN = 0.05
_BATCH = 8
_WINDOWS = (512, 256, 128, 64, 32)
_PROBE_TOKENS = 4
_PROBE_DRAFT_STEPS = 1.5
"""A probe drafts for no longer than this many plain steps, or for 4 tokens."""
_PROBE_STEPS = 2.5
"""A probe may take this many plain steps to catch up; beyond, it looks at the last tokens only."""
LIKELY = 0.85
"""A good draft model is right this often."""
AT_BEST = 0.97
"""And hardly ever more often than this."""


NO_DRAFT = Draft()


class ContextDrafter(Drafter, Protocol):
    """A drafter with a context of its own, which must be kept up with the text."""

    @property
    def lag(self) -> int:
        """How many committed tokens it has not decoded yet."""

    def prefill(self) -> None:
        """Decode what it lags behind, but for the last token."""

    def skip(self, window: int) -> None:
        """Rather than catch up, go on as if the last `window` tokens were the whole text."""


class Arm:
    """A drafter whose drafts cost nothing: asked in every round, used when verifying pays.

    It learns from every draft, verified or not: the tokens that the target commits tell whether the first ones
    were right.
    """

    def __init__(self, drafter: Drafter) -> None:
        self.drafter = drafter
        self.acceptance = AcceptanceModel()
        self.draft = NO_DRAFT
        self.survivals: list[float] = []
        self._buckets: list[int] = []

    def ask(self, budget: Budget) -> None:
        """Get a draft, and the chance that it is right up to each token."""
        self.draft = self.drafter.propose(budget)
        self._note(self.draft)

    def worth(self, target_seconds: Sequence[float], rate: float, token_value: float) -> tuple[int, float]:
        """How many tokens of the draft to verify, and the gain in tokens."""
        return best_prefix(self.survivals, target_seconds, rate, token_value)

    def verified_prefix(self, length: int) -> Draft:
        """The draft's first `length` tokens; a sampled draft stays whole.

        What was sampled may not be dropped for being unlikely: the tokens that are kept would then no longer
        follow the distribution they are judged by, nor the answer the target's.
        """
        draft = self.draft
        if length >= len(draft) or draft.distributions is not None:
            return draft
        return Draft.chain(draft.tokens[:length], confidences=draft.confidences[:length], source=draft.source)

    def learn(self, outcome: Outcome, used: bool) -> None:
        """The round is over: compare the draft with what was committed, and pass on the news."""
        if len(self.draft) > 0:
            right, wrong = self._judged(outcome, used)
            for position in range(right):
                self.acceptance.learn(self._buckets[position], position, True)
            if wrong:
                self.acceptance.learn(self._buckets[right], right, False)
            # The token after the last right one was drafted from the true text, whatever became of it.
            self.acceptance.saw(self._buckets[: right + 1])
            self.draft = NO_DRAFT
        if used:
            self.drafter.accept(outcome)
        else:
            self.drafter.observe(outcome.tokens)

    def _judged(self, outcome: Outcome, used: bool) -> tuple[int, bool]:
        """How many of the draft's tokens were right, and whether the one after them is known to be wrong."""
        committed = outcome.tokens
        if self.draft.distributions is None:
            right = common_prefix(self.draft.tokens, committed)
            return right, right < min(len(self.draft), len(committed))
        if not used:
            return 0, False  # A sampled token that the target did not draw may still have been acceptable.
        right = min(len(outcome.path), len(committed))
        return right, right < min(len(outcome.draft), len(committed))

    def _note(self, draft: Draft) -> None:
        confidences = draft.confidences or (UNKNOWN,) * len(draft)
        self._buckets = [bucket_of(confidence) for confidence in confidences]
        self.survivals = []
        survival = 1.0
        chance = self.acceptance.chance
        for position, bucket in enumerate(self._buckets):
            survival *= chance(bucket, position)
            self.survivals.append(survival)


class ContextArm(Arm):
    """A drafter that decodes: asked only when a draft is expected to pay, or to see whether it would."""

    def __init__(self, drafter: ContextDrafter) -> None:
        super().__init__(drafter)
        self.context_drafter = drafter
        self.schedule = ProbeSchedule()
        self.draft_seconds = 0.0
        """What drafting in this round is foreseen to take: less noisy than what it took."""
        self._promise = 0.0
        self._usual_extra = 0.3
        """How often a draft begins with a decode of two tokens: the one before was accepted in full."""
        self._plan = Plan(0.0, ())
        self._plan_age = _PLAN_ROUNDS
        self._plan_rate = 0.0

    def expected_worth(
        self, profile: CostProfile, target_seconds: Sequence[float], rate: float, longest: int
    ) -> float:
        """The gain, in tokens, that asking for a draft now is expected to bring over plain decoding."""
        changed = abs(rate - self._plan_rate) > _PLAN_RATE_CHANGE * rate
        if self._plan_age >= (_PLAN_LEAST if changed else _PLAN_ROUNDS):
            assert profile.draft is not None
            self._plan = make_plan(self.acceptance, target_seconds, profile.draft.seconds(1), rate, longest)
            self._plan_age, self._plan_rate = 0, rate
        self._plan_age += 1
        return self._plan.value - rate * self._first_decode_seconds(profile)

    def draft_now(
        self, profile: CostProfile, budget: Budget, target_seconds: Sequence[float], rate: float
    ) -> tuple[int, float]:
        """Ask for a draft that ends where going on is not worth it; then as `worth`."""
        assert profile.draft is not None
        lag, before = self.context_drafter.lag, self.drafter.seconds
        self.ask(replace(budget, keep_going=self._stopping_rule(budget.keep_going)))
        if lag <= 2:
            self._usual_extra += _USUAL_GAIN * ((lag == 2) - self._usual_extra)
        profile.observe_draft(lag, len(self.draft), self.drafter.seconds - before)
        step = profile.draft.seconds(1)
        if self.has_drafted:
            self.draft_seconds = profile.draft.seconds(lag) + (len(self.draft) - 1) * step
        length, worth = self.worth(target_seconds, rate, 1.0)
        self._promise = worth - rate * len(self.draft) * step
        return length, worth

    @property
    def has_drafted(self) -> bool:
        """Whether it was asked in this round."""
        return len(self.draft) > 0

    def probed(self, lost_seconds: float) -> None:
        """The round it was probed in is over. What it drafted, apart from catching up, was worth it or not."""
        self.schedule.probed(lost_seconds, promising=self._promise > 0)
        self._plan_age = _PLAN_ROUNDS

    def probe_seconds(self, profile: CostProfile, plain_step: float) -> float:
        """What a probe costs that finds nothing: catching up, or skipping to a window, and drafting a token."""
        assert profile.draft is not None
        return profile.draft.seconds(self._probe_context(profile, plain_step))

    def get_ready_to_probe(self, profile: CostProfile, plain_step: float) -> int:
        """Skip, when catching up would cost too much for a mere probe; return how many tokens it may draft."""
        assert profile.draft is not None
        self.context_drafter.skip(self._probe_context(profile, plain_step))
        return max(_PROBE_TOKENS, int(_PROBE_DRAFT_STEPS * plain_step / profile.draft.seconds(1)))

    def _probe_context(self, profile: CostProfile, plain_step: float) -> int:
        assert profile.draft is not None
        lag = max(self.context_drafter.lag, 1)
        affordable = _PROBE_STEPS * plain_step
        if profile.draft.seconds(lag) <= affordable:
            return lag
        windows = (window for window in _WINDOWS if profile.draft.seconds(window) <= affordable)
        return min(lag, next(windows, _WINDOWS[-1]))

    def catch_up_seconds(self, profile: CostProfile) -> float:
        """What a token costs that was committed without this drafter, once it drafts again."""
        assert profile.draft is not None
        return (profile.draft.seconds(_BATCH) - profile.draft.seconds(1)) / (_BATCH - 1)

    def could_pay(self, profile: CostProfile, target_seconds: Sequence[float], chance: float) -> bool:
        """Whether drafting would pay, at any length, if every token were right with this chance."""
        assert profile.draft is not None
        step, plain = profile.draft.seconds(1), target_seconds[1]
        tokens = right = 1.0
        for length in range(1, len(target_seconds) - 1):
            right *= chance
            tokens += right
            if length * step + target_seconds[length + 1] < tokens * plain:
                return True
        return False

    def prepare(
        self, profile: CostProfile, target_seconds: Sequence[float], rate: float, longest: int
    ) -> None:
        """A generation begins: catch up with the prompt if a draft is likely to be asked for soon."""
        untried = self.schedule.probes == 0 and self.could_pay(profile, target_seconds, LIKELY)
        if untried or self.expected_worth(profile, target_seconds, rate, longest) > 0:
            self.context_drafter.prefill()

    def learn(self, outcome: Outcome, used: bool) -> None:
        """As for any drafter; a round without a draft makes what is known of the text's kind older."""
        if not self.has_drafted:
            self.acceptance.age()
        self.draft_seconds = 0.0
        super().learn(outcome, used)

    def _first_decode_seconds(self, profile: CostProfile) -> float:
        """Of a draft that begins now.

        What it lags behind has to be decoded before the next draft, now or later: no reason to wait, but an
        investment that the rounds to come must pay off.
        """
        assert profile.draft is not None
        one = profile.draft.seconds(1)
        usual = self._usual_extra * (profile.draft.seconds(2) - one)
        lag = max(self.context_drafter.lag, 1)
        return one + usual + (profile.draft.seconds(lag) - one) / _CATCH_UP_ROUNDS

    def _stopping_rule(self, others: Callable[[int, float], bool] | None) -> Callable[[int, float], bool]:
        thresholds = self._plan.thresholds
        chance = self.acceptance.chance
        survival = 1.0

        def keep_going(drafted: int, confidence: float) -> bool:
            nonlocal survival
            survival *= chance(bucket_of(confidence), drafted - 1)
            if drafted >= len(thresholds) or survival <= thresholds[drafted]:
                return False
            return others is None or others(drafted, confidence)

        return keep_going
