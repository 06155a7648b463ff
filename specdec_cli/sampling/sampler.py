"""The one definition of how the next token is chosen: for plain decoding, for drafting and for judging."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from specdec_cli.errors import EngineFault
from specdec_cli.sampling.candidates import Candidates, LogitRow, check_peak
from specdec_cli.sampling.chain import run_chain, top_k, with_temperature, xtc_is_on
from specdec_cli.sampling.constraint import Constraint, allowed_candidates, allowed_nucleus
from specdec_cli.sampling.distribution import Distribution
from specdec_cli.sampling.edits import LogitEdits
from specdec_cli.sampling.race import race
from specdec_cli.sampling.random_source import XTC, RandomSource
from specdec_cli.sampling.validation import validate
from specdec_cli.settings import SamplingSettings


class Sampler:
    """From a row of logits to a distribution and to a token.

    Everywhere, `logits_row` is float32 of shape (n_vocab,) and stays as it is (a draft model of a smaller
    vocabulary pads its row with -inf). `history` is every token before the position being chosen, the
    prompt included, and its length is the position that addresses the random numbers. `constraint`, when
    there is a grammar, is its state at that position. `dry_breakers` are the tokens across which DRY sees
    no repetition (`dry.breaker_tokens`).

    Raises `UsageProblem` for settings out of range, `SpecdecError` for a row that leaves no choice.
    """

    def __init__(
        self, settings: SamplingSettings, n_vocab: int, *, dry_breakers: Collection[int] = ()
    ) -> None:
        validate(settings, n_vocab)
        self.settings = settings
        self._edits = LogitEdits(settings, n_vocab, dry_breakers)
        self.is_greedy = settings.temperature == 0
        """Whether the most likely token is chosen, without chance."""
        self.needs_history = self._edits.needs_history
        """Whether the tokens of `history` matter, or only how many there are."""
        self._uses_chance = xtc_is_on(settings)
        self._has_nucleus = settings.typical_p >= 1 and (settings.top_p < 1 or settings.min_p > 0)
        self._after_nucleus = replace(settings, top_p=1.0)
        # Typical-p and XTC may drop the most likely token: greedy is then not the largest logit.
        self._is_argmax = self.is_greedy and not self._uses_chance and settings.typical_p >= 1

    def distribution(
        self,
        logits_row: LogitRow,
        history: Sequence[int],
        random: RandomSource | None = None,
        constraint: Constraint | None = None,
    ) -> Distribution:
        """What the next token is drawn from. `random` is needed when XTC is on: it strikes by chance."""
        chance = 1.0
        if self._uses_chance:
            if random is None:
                raise EngineFault("XTC is on, and its distribution was asked for without the random source")
            chance = random.uniform(len(history), XTC)
        row = self._edits.apply(logits_row, history)
        candidates = self._candidates(row, constraint, chance)
        return with_temperature(candidates, self.settings.temperature)

    def choose(
        self,
        logits_row: LogitRow,
        history: Sequence[int],
        random: RandomSource,
        constraint: Constraint | None = None,
    ) -> int:
        """The next token of plain decoding at this position, and of *match*.

        A drafter that chooses with this sampler and the same `random` from its own logits meets the noise
        that the target will meet: it agrees as often as the two distributions are alike.
        """
        if not self._is_argmax:
            return race(self.distribution(logits_row, history, random, constraint), random, len(history))
        row = self._edits.apply(logits_row, history)
        if constraint is not None:
            best = allowed_candidates(row, constraint, 1)
            assert best.tokens is not None
            return int(best.tokens[0])
        token = int(row.argmax())
        check_peak(float(row[token]))
        return token

    def _candidates(self, row: LogitRow, constraint: Constraint | None, chance: float) -> Candidates:
        settings = self.settings
        if constraint is None:
            return run_chain(top_k(row, settings.top_k), settings, chance)
        if settings.top_k > 0 or not self._has_nucleus:
            return run_chain(allowed_candidates(row, constraint, max(settings.top_k, 0)), settings, chance)
        nucleus = allowed_nucleus(row, constraint, settings.top_p, settings.min_p)
        return run_chain(nucleus, self._after_nucleus, chance)
