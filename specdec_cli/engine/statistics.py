"""What happened in a generation, as numbers: the source of the summary line and of `--json`."""

from __future__ import annotations

from dataclasses import dataclass, field

from specdec_cli.draft.values import Outcome


@dataclass
class Statistics:
    """Counters that grow round by round. Times in seconds."""

    rounds: int = 0
    drafted_rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    tokens: int = 0
    target_seconds: float = 0.0
    draft_seconds: float = 0.0
    reached: list[int] = field(default_factory=list)
    """How many drafts had a token at each depth."""
    passed: list[int] = field(default_factory=list)
    """How many of those were accepted."""
    by_source: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Per drafter that made drafts: (drafted, accepted)."""

    def add(self, outcome: Outcome) -> None:
        """Count one round."""
        self.rounds += 1
        self.tokens += len(outcome.tokens)
        self.target_seconds += outcome.target_seconds
        self.draft_seconds += outcome.draft_seconds
        size, accepted = len(outcome.draft), len(outcome.path)
        if not size:
            return
        self.drafted_rounds += 1
        self.drafted += size
        self.accepted += accepted
        drafted_before, accepted_before = self.by_source.get(outcome.draft.source, (0, 0))
        self.by_source[outcome.draft.source] = (drafted_before + size, accepted_before + accepted)
        if size > len(self.reached):
            self.reached += [0] * (size - len(self.reached))
            self.passed += [0] * (size - len(self.passed))
        for depth in range(size):
            self.reached[depth] += 1
        for depth in range(accepted):
            self.passed[depth] += 1

    @property
    def acceptance_rate(self) -> float:
        """Accepted ÷ drafted tokens; 0 when nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else 0.0

    @property
    def mean_tokens_per_round(self) -> float:
        """Committed tokens per target decode; 1 is plain decoding."""
        return self.tokens / self.rounds if self.rounds else 0.0

    @property
    def accepted_by_position(self) -> tuple[float, ...]:
        """For each depth of a draft, the share of drafts that reached it whose token there was accepted."""
        return tuple(passed / reached for passed, reached in zip(self.passed, self.reached, strict=True))
