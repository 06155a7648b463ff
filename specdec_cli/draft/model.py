"""Drafts decoded one token at a time by a small model with a context of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from specdec_cli.draft.confidence import allowed_probability, softmax_probability
from specdec_cli.draft.ngram import common_prefix
from specdec_cli.draft.values import Budget, Draft, DrafterNeeds, Outcome
from specdec_cli.errors import SpecdecError
from specdec_cli.protocols import Logits, ModelContext
from specdec_cli.sampling.candidates import LogitRow
from specdec_cli.sampling.constraint import Constraint, GrammarDeadEnd
from specdec_cli.sampling.distribution import Distribution
from specdec_cli.sampling.race import race
from specdec_cli.sampling.random_source import DRAFT, RandomSource
from specdec_cli.sampling.sampler import Sampler


class ModelDrafter:
    """A draft model that continues the text.

    Its cache holds the committed text up to some lag, and while a draft is out, the drafted tokens but the
    last, which nobody has decoded yet. So after a fully accepted draft it decodes two tokens next (that one
    and the target's own), after a rejection one; nothing is decoded twice unless the text itself is taken
    back. Drafts are chains.

    Greedy: the most likely token, a point mass. Sampling under *match*: the draft's distribution races with
    the noise that the target will meet at that position, so both draw the same token wherever they can.
    Sampling under *reject*: drawn from the draft's distribution with noise of its own, and the distributions
    travel with the draft. Confidences are the draft's probability of the chosen token.
    """

    name: ClassVar[str] = "model"
    needs: ClassVar[DrafterNeeds] = DrafterNeeds(own_context=True)

    def __init__(
        self,
        context: ModelContext,
        *,
        sampler: Sampler,
        random: RandomSource,
        rule: Literal["match", "reject"],
        target_n_vocab: int,
        prefill_in_begin: bool = True,
    ) -> None:
        """`prefill_in_begin`: decode a prompt at once; else only when a draft is first asked for."""
        self.notice: str | None = None
        self._context = context
        self._sampler = sampler
        self._random = random
        self._rule = rule
        self._prefill_in_begin = prefill_in_begin
        self._text: list[int] = []
        self._speculated: list[int] = []
        """Drafted tokens in the cache, after the text's."""
        self._start = 0
        """The cache is `text[start:known] + speculated`."""
        self._n_vocab = target_n_vocab
        missing = target_n_vocab - context.n_vocab
        self._padded = np.full(target_n_vocab, -np.inf, dtype=np.float32) if missing > 0 else None
        self._foreign = False
        """Whether the text holds an id that the draft model has no entry for."""
        trained = context.n_ctx_train
        self._capacity = min(context.n_ctx, trained) if trained > 0 else context.n_ctx

    @property
    def seconds(self) -> float:
        """Seconds inside native decodes so far."""
        return self._context.seconds

    @property
    def lag(self) -> int:
        """How many committed tokens it has not decoded yet; at least 1 when it is about to draft."""
        return len(self._text) - self._known

    @property
    def _known(self) -> int:
        return self._start + self._context.length - len(self._speculated)

    def begin(self, tokens: Sequence[int]) -> None:
        """Keep the cache up to the common prefix with `tokens`; one that skipped tokens is emptied."""
        common = common_prefix(self._text[: self._known], tokens) if self._start == 0 else 0
        self._start = 0
        self._speculated = []
        self._text = list(tokens)
        self._foreign = self._is_foreign(tokens)
        self.notice = None
        self._keep(common)
        if self._prefill_in_begin:
            self.prefill()

    def prefill(self) -> None:
        """Decode the text but its last token, so that the next draft begins without delay."""
        fits = len(self._text) - self._start <= self._capacity
        if fits and self.lag > 1 and not self._foreign:
            self._context.decode(self._text[self._known : -1], 0)

    def skip(self, window: int) -> None:
        """Instead of catching up: forget everything, and take the last `window` tokens for the whole text.

        A draft is judged by the target in any case; drafting from less context is only a little less often right.
        """
        if self.lag > window:
            self._speculated = []
            self._cut(0)
            self._start = len(self._text) - window

    def observe(self, tokens: Sequence[int]) -> None:
        """`tokens` were committed: keep of the cache what agrees with them."""
        size = self._known
        self._text.extend(tokens)
        self._foreign = self._foreign or self._is_foreign(tokens)
        agreed = common_prefix(self._speculated, self._text[size : size + len(self._speculated)])
        self._speculated = []
        self._keep(size + agreed)

    def propose(self, budget: Budget) -> Draft:
        """A chain of at most `budget.max_tokens`; empty, with a notice, once the context is full."""
        text, size = self._text, len(self._text)
        # The last drafted token is not decoded, so it needs no room.
        room = self._capacity - (size - self._start)
        limit = min(budget.max_tokens, room + 1)
        if limit < 1 or not text or self._foreign:
            if self._foreign:
                self.notice = (
                    f"the text holds a token beyond the draft's {self._context.n_vocab}: it drafts no more"
                )
            elif room < 0:
                self.notice = (
                    f"the draft model's context of {self._capacity} tokens is full: it drafts no more"
                )
            return Draft()
        if self._speculated or self.lag == 0:
            self.observe(())  # The draft before was never judged.
        state = budget.constraint.fork() if budget.constraint is not None else None
        distributions: list[Distribution] = []
        confidences: list[float] = []
        logits = self._context.decode(text[self._known :], 1)
        try:
            while True:
                choice = self._choose(self._row(logits), size, budget.keep_going is not None, state)
                if choice is None:
                    break
                token, confidence, distribution = choice
                text.append(token)
                if distribution is not None:
                    distributions.append(distribution)
                if confidence is not None:
                    confidences.append(confidence)
                drafted = len(text) - size
                if state is not None:
                    state.accept(token)
                    if state.ended:
                        break
                if drafted >= limit or self._told_to_stop(budget, drafted, confidence):
                    break
                logits = self._context.decode((token,), 1)
                self._speculated.append(token)
            tokens = text[size:]
        finally:
            del text[size:]
        return Draft.chain(
            tokens, distributions=distributions or None, confidences=confidences, source=self.name
        )

    def accept(self, outcome: Outcome) -> None:
        """Take in what was committed; drop what was rejected."""
        self.observe(outcome.tokens)

    def close(self) -> None:
        """Free the draft model's context."""
        self._context.close()

    def _keep(self, length: int) -> None:
        """Cut the cache back to `length`, and so that the text's last token is still to decode."""
        self._cut(min(length, max(len(self._text) - 1, 0)) - self._start)

    def _is_foreign(self, tokens: Sequence[int]) -> bool:
        """Vocabularies of one family may be padded differently; only the target's may be the longer one here."""
        return self._padded is not None and max(tokens, default=0) >= self._context.n_vocab

    def _cut(self, length: int) -> None:
        if self._context.length > length and not self._context.cut(length):
            raise SpecdecError(
                "the draft model cannot drop rejected tokens",
                hint="use --drafter ngram or none, or another draft model",
                code="arch.no_rollback",
            )

    def _row(self, logits: Logits) -> LogitRow:
        """The draft's logits over the target's vocabulary: ids that the target lacks are not offered."""
        if self._padded is None:
            return logits[0, : self._n_vocab]
        self._padded[: self._context.n_vocab] = logits[0]
        return self._padded

    def _choose(
        self, row: LogitRow, round_start: int, want_confidence: bool, constraint: Constraint | None
    ) -> tuple[int, float | None, Distribution | None] | None:
        """The next token, its probability when wanted, and its distribution when it was sampled to be judged.

        None where the grammar allows no token that this model knows.
        """
        history, position = self._text, len(self._text)
        try:
            if self._sampler.is_greedy:
                token = self._sampler.choose(row, history, self._random, constraint)
                return token, _confidence(row, token, constraint) if want_confidence else None, None
            distribution = self._sampler.distribution(row, history, self._random, constraint)
        except GrammarDeadEnd:
            return None
        if self._rule == "match":
            token = race(distribution, self._random, position)
            return token, distribution.probability(token), None
        token = distribution.draw(self._random.uniform(position, DRAFT, index=round_start))
        return token, distribution.probability(token), distribution

    @staticmethod
    def _told_to_stop(budget: Budget, drafted: int, confidence: float | None) -> bool:
        return (
            budget.keep_going is not None
            and confidence is not None
            and not budget.keep_going(drafted, confidence)
        )


def _confidence(row: LogitRow, token: int, constraint: Constraint | None) -> float:
    if constraint is None:
        return softmax_probability(row, token)
    return allowed_probability(row, token, constraint)
