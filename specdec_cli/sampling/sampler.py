"""The one definition of how the next token is chosen: for plain decoding, for drafting and for judging."""

from __future__ import annotations

from collections.abc import Sequence

from specdec_cli.errors import EngineFault
from specdec_cli.sampling.candidates import LogitRow, check_peak
from specdec_cli.sampling.chain import run_chain, with_temperature, xtc_is_on
from specdec_cli.sampling.distribution import Distribution
from specdec_cli.sampling.edits import LogitEdits
from specdec_cli.sampling.race import race
from specdec_cli.sampling.random_source import XTC, RandomSource
from specdec_cli.sampling.validation import validate
from specdec_cli.settings import SamplingSettings


class Sampler:
    """From a row of logits to a distribution and to a token.

    Everywhere, `logits_row` is float32 of shape (n_vocab,) and stays as it is; `history` is every token
    before the position being chosen, the prompt included, and its length is the position that addresses the
    random numbers. Raises `UsageProblem` for settings out of range, `SpecdecError` for a row without a choice.
    """

    def __init__(self, settings: SamplingSettings, n_vocab: int) -> None:
        validate(settings, n_vocab)
        self.settings = settings
        self._edits = LogitEdits(settings, n_vocab)
        self.is_greedy = settings.temperature == 0
        """Whether the choice is the most likely token, without chance."""
        self.needs_history = self._edits.needs_history
        """Whether the tokens of `history` matter, or only how many there are."""
        self._uses_chance = xtc_is_on(settings)
        # Both may drop the most likely token, so that greedy is no longer the largest logit.
        self._is_argmax = self.is_greedy and not self._uses_chance and settings.typical_p >= 1

    def distribution(
        self, logits_row: LogitRow, history: Sequence[int], random: RandomSource | None = None
    ) -> Distribution:
        """What the next token is drawn from. `random` is needed when XTC is on: it strikes by chance."""
        chance = 1.0
        if self._uses_chance:
            if random is None:
                raise EngineFault("XTC is on, and its distribution was asked for without the random source")
            chance = random.uniform(len(history), XTC)
        row = self._edits.apply(logits_row, history)
        return with_temperature(run_chain(row, self.settings, chance), self.settings.temperature)

    def choose(self, logits_row: LogitRow, history: Sequence[int], random: RandomSource) -> int:
        """The next token of plain decoding at this position, and of *match*."""
        if self._is_argmax:
            row = self._edits.apply(logits_row, history)
            token = int(row.argmax())
            check_peak(float(row[token]))
            return token
        return race(self.distribution(logits_row, history, random), random, len(history))
