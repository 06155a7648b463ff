"""The policy behind `--drafter auto`: what to draft with in this round, how far, and when not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from specdec_cli.draft.arms import AT_BEST, NO_DRAFT, Arm, ContextArm, ContextDrafter
from specdec_cli.draft.costs import CostProfile
from specdec_cli.draft.ledger import Ledger, PolicySummary
from specdec_cli.draft.planning import break_even
from specdec_cli.draft.values import Budget, Draft, Drafter, DrafterNeeds, Outcome
from specdec_cli.errors import EngineFault

_MARGIN = 0.05
"""Tokens per round that a draft must be expected to gain. What seems to gain less may as well lose."""
_PLAIN_EVERY = 128
"""After so many rounds with drafts one is plain, so that what plain decoding costs stays known."""


class PolicyDrafter:
    """Chooses in every round among the drafters it wraps, or none, to maximise tokens per second.

    All of them follow the text. The profile is kept true by the rounds it foresaw; read it at the end to store.
    """

    name: ClassVar[str] = "auto"
    needs: ClassVar[DrafterNeeds] = DrafterNeeds()

    def __init__(
        self,
        free: Sequence[Drafter],
        costly: Sequence[ContextDrafter],
        profile: CostProfile,
        draft_max: int,
    ) -> None:
        """`free`: drafters whose drafts cost nothing (n-grams); `costly`: those that decode, made so that
        `begin` does not prefill. `profile`: what rounds cost here. `draft_max`: a hard bound on every draft.
        """
        if costly and profile.draft is None:
            raise EngineFault("the policy was given a draft model and no costs of it")
        self.profile = profile
        self._free = [Arm(drafter) for drafter in free]
        self._costly = [ContextArm(drafter) for drafter in costly]
        self._arms: list[Arm] = [*self._free, *self._costly]
        self._longest = draft_max
        self._ledger = Ledger()
        self._chosen: Arm | None = None
        self._probed: ContextArm | None = None
        self._since_plain = 0

    @property
    def seconds(self) -> float:
        """Seconds inside native decodes of the drafters."""
        return sum(arm.drafter.seconds for arm in self._arms)

    @property
    def notice(self) -> str | None:
        """The first notice that one of the drafters has."""
        return next((arm.drafter.notice for arm in self._arms if arm.drafter.notice is not None), None)

    def begin(self, tokens: Sequence[int]) -> None:
        """A generation starts. A draft model decodes the prompt now if it is expected to be asked soon."""
        for arm in self._arms:
            arm.draft = NO_DRAFT
            arm.drafter.begin(tokens)
        if self._longest > 0:
            costs, rate = self._costs()
            for costly in self._costly:
                costly.prepare(self.profile, costs, rate, self._longest)

    def observe(self, tokens: Sequence[int]) -> None:
        """All drafters hear of it."""
        for arm in self._arms:
            arm.draft = NO_DRAFT
            arm.drafter.observe(tokens)

    def propose(self, budget: Budget) -> Draft:
        """The draft that is worth most, or an empty one."""
        self._chosen = self._probed = None
        budget = replace(budget, max_tokens=min(budget.max_tokens, self._longest))
        if budget.max_tokens < 1:
            return NO_DRAFT
        for arm in self._free:
            arm.ask(budget)
        if self._since_plain >= _PLAIN_EVERY:
            return NO_DRAFT
        costs, rate = self._costs()
        costly, expected = self._best_costly(costs, rate)
        # What a draft model does not draft itself it has to catch up with.
        token_value = 1.0 if costly is None else 1.0 - rate * costly.catch_up_seconds(self.profile)
        length, worth = 0, 0.0
        for free in self._free:
            free_length, free_worth = free.worth(costs, rate, token_value)
            if free_worth > worth:
                self._chosen, length, worth = free, free_length, free_worth
        if self._chosen is None and costly is None:
            costly = self._probed = self._due_for_a_probe(costs)
        elif expected <= worth:
            costly = None
        if costly is not None:
            if costly is self._probed:
                most = costly.get_ready_to_probe(self.profile, costs[1])
                budget = replace(budget, max_tokens=min(budget.max_tokens, most))
            costly_length, costly_worth = costly.draft_now(self.profile, budget, costs, rate)
            if costly_worth > worth or costly.draft.distributions is not None:
                self._chosen, length = costly, costly_length
        return NO_DRAFT if self._chosen is None else self._chosen.verified_prefix(length)

    def accept(self, outcome: Outcome) -> None:
        """Learn from the round, and tell every drafter."""
        chosen = self._chosen if len(outcome.draft) > 0 else None
        rows = 1 + len(outcome.draft)
        target = self.profile.target
        target.observe(rows, outcome.target_seconds)
        foreseen = target.seconds(rows) + sum(arm.draft_seconds for arm in self._costly)
        plain_step = target.seconds(1)
        saved = len(outcome.tokens) * plain_step - foreseen
        for costly in self._costly:
            costly.schedule.pass_round(foreseen)
            if costly is self._probed:
                costly.probed(-saved)
            elif costly.has_drafted:
                costly.schedule.drafted(saved)
        for arm in self._arms:
            arm.learn(outcome, arm is chosen)
        self._since_plain = self._since_plain + 1 if rows > 1 else 0
        source = outcome.draft.source if chosen else "none"
        self._ledger.enter(source, len(outcome.tokens), foreseen, plain_step)
        self._chosen = self._probed = None

    def close(self) -> None:
        """Close all drafters."""
        for arm in self._arms:
            arm.drafter.close()

    def summary(self) -> PolicySummary:
        """What it did so far, and what it gained."""
        ledger = self._ledger
        probes = sum(arm.schedule.probes for arm in self._costly)
        if self._longest < 1 or not self._arms:
            return PolicySummary("off", "nothing to draft with", dict(ledger.rounds), probes, None)
        if ledger.is_speculating:
            choices = ", ".join(f"{name} in {count}" for name, count in ledger.rounds.most_common())
            return PolicySummary("on", f"rounds: {choices}", dict(ledger.rounds), probes, ledger.gain)
        return PolicySummary("auto-off", self._why_off(), dict(ledger.rounds), probes, ledger.gain)

    def _costs(self) -> tuple[list[float], float]:
        """Seconds of the target by rows, and the tokens per second that time is worth."""
        costs = self.profile.target.table(self._longest + 1)
        return costs, self._ledger.tokens_per_step / costs[1]

    def _best_costly(self, costs: Sequence[float], rate: float) -> tuple[ContextArm | None, float]:
        best, best_worth = None, _MARGIN
        for arm in self._costly:
            worth = arm.expected_worth(self.profile, costs, rate, self._longest)
            if worth > best_worth and arm.drafter.notice is None:
                best, best_worth = arm, worth
        return best, best_worth if best is not None else 0.0

    def _due_for_a_probe(self, costs: Sequence[float]) -> ContextArm | None:
        for arm in self._costly:
            if (
                arm.drafter.notice is None
                and arm.schedule.is_due(arm.probe_seconds(self.profile, costs[1]), costs[1])
                and arm.could_pay(self.profile, costs, AT_BEST)
            ):
                return arm
        return None

    def _why_off(self) -> str:
        if not self._costly:
            return "the text does not repeat itself enough for n-gram drafts to pay"
        assert self.profile.draft is not None
        costs, step = self.profile.target.table(self._longest + 1), self.profile.draft.seconds(1)
        needed = break_even(costs, step, self._longest)
        if needed is None:
            return (
                f"drafting a token takes {step / costs[1]:.0%} of a plain step and verifying two rows "
                f"{costs[2] / costs[1]:.1f} steps: it cannot pay here even if every token were right"
            )
        rate = max(arm.acceptance.mean_rate() for arm in self._costly)
        return f"about {rate:.0%} of drafted tokens would be right, and {needed:.0%} are needed to pay here"
