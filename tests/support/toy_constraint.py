"""A toy grammar without a native library: letters must alternate between two sets, and an end may follow."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Alternating:
    """After a token of `first` one of `second` must come, and the other way round; `end` after `second` only."""

    first: frozenset[int]
    second: frozenset[int]
    end: int | None = None
    turn: int = 0
    ended: bool = False
    asked: list[int] = field(default_factory=list)
    """How many tokens each question was about; shared with the forks."""
    forks: list[int] = field(default_factory=list)

    def _allowed(self, token: int) -> bool:
        if self.ended:
            return False
        if token == self.end:
            return self.turn == 0
        return token in (self.first, self.second)[self.turn]

    def allowed(self, tokens: np.ndarray) -> np.ndarray:
        self.asked.append(len(tokens))
        return np.array([self._allowed(int(token)) for token in tokens], dtype=bool)

    def accept(self, token: int) -> None:
        assert self._allowed(token), f"token {token} is not allowed here"
        self.ended = token == self.end
        self.turn = 1 - self.turn

    def fork(self) -> Alternating:
        self.forks.append(1)
        return Alternating(self.first, self.second, self.end, self.turn, self.ended, self.asked, self.forks)
