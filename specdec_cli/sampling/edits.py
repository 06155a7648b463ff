"""What changes single logits before anything is cut: logit bias, penalties, DRY."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from specdec_cli.sampling.candidates import LogitRow
from specdec_cli.sampling.dry import Dry, dry_is_on
from specdec_cli.sampling.history import tail
from specdec_cli.settings import SamplingSettings


class LogitEdits:
    """Logit bias, repetition penalties and DRY over rows of one vocabulary, in this order."""

    def __init__(self, settings: SamplingSettings, n_vocab: int, dry_breakers: Collection[int]) -> None:
        self._settings = settings
        self._bias_tokens = np.array([token for token, _ in settings.logit_bias], dtype=np.int64)
        self._bias_values = np.array([value for _, value in settings.logit_bias], dtype=np.float32)
        self._penalties = penalties_are_on(settings)
        self._dry = Dry(settings, dry_breakers) if dry_is_on(settings) else None
        self.needs_history = self._penalties or self._dry is not None
        self.active = self.needs_history or len(self._bias_tokens) > 0
        self._scratch = np.empty(n_vocab if self.active else 0, dtype=np.float32)

    def apply(self, row: LogitRow, history: Sequence[int]) -> LogitRow:
        """The edited row, valid until the next call: it may be a buffer of this object. `row` stays."""
        if not self.active:
            return row
        np.copyto(self._scratch, row)
        # One token may be given several biases: they add up.
        np.add.at(self._scratch, self._bias_tokens, self._bias_values)
        if self._penalties:
            self._penalize(self._scratch, history)
        if self._dry is not None:
            tokens, penalties = self._dry.penalties(history)
            self._scratch[tokens] -= penalties
        return self._scratch

    def _penalize(self, row: LogitRow, history: Sequence[int]) -> None:
        """Repeat penalty (Keskar et al., 2019; multiplied where the logit is ≤ 0), frequency, presence."""
        settings = self._settings
        tokens, counts = np.unique(tail(history, settings.penalty_last_n), return_counts=True)
        logits = row[tokens]
        repeat, presence = np.float32(settings.repeat_penalty), np.float32(settings.presence_penalty)
        with np.errstate(over="ignore"):
            logits = np.where(logits <= 0, logits * repeat, logits / repeat)
            row[tokens] = logits - (
                counts.astype(np.float32) * np.float32(settings.frequency_penalty) + presence
            )


def penalties_are_on(settings: SamplingSettings) -> bool:
    """Whether the repeat, frequency and presence penalties change anything."""
    if settings.penalty_last_n == 0:
        return False
    return settings.repeat_penalty != 1 or settings.frequency_penalty != 0 or settings.presence_penalty != 0
