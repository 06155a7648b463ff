"""The toy backend on a clock of its own: decodes take scripted seconds, nothing else takes any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from specdec_cli.protocols import Logits
from specdec_cli.settings import ContextSettings
from tests.support.toy import ToyBackend, ToyContext, ToyModel

Cost = Callable[[int], float]
"""Seconds of a decode of n tokens."""


@dataclass
class Clock:
    """Call it for the time."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class TimedContext(ToyContext):
    """Advances the clock with every decode."""

    clock: Clock
    cost: Cost

    def decode(self, tokens: Sequence[int], rows: int) -> Logits:
        before = self.seconds
        logits = super().decode(tokens, rows)
        took = self.cost(len(tokens))
        self.seconds = before + took
        self.clock.now += took
        return logits


class TimedModel(ToyModel):
    """Makes timed contexts, at a cost that may depend on their settings."""

    clock: Clock
    cost_of: Callable[[ContextSettings], Cost]
    context_class: type[TimedContext]

    def new_context(self, settings: ContextSettings, max_rows: int) -> TimedContext:
        context = self.context_class(
            self.logits_after,
            n_ctx=settings.n_ctx,
            n_ctx_train=self.n_ctx_train,
            max_rows=max_rows,
            rolls_back=self.rolls_back,
        )
        context.clock, context.cost = self.clock, self.cost_of(settings)
        self.contexts.append(context)
        return context


@dataclass
class TimedBackend(ToyBackend):
    """`target_cost` and `draft_cost`: from a context's settings to the seconds of its decodes."""

    clock: Clock = field(default_factory=Clock)
    target_context: type[TimedContext] = TimedContext
    target_cost: Callable[[ContextSettings], Cost] = lambda _settings: lambda tokens: 0.010 + 0.001 * tokens
    draft_cost: Callable[[ContextSettings], Cost] = lambda _settings: lambda tokens: 0.001 * tokens

    def load(
        self, path: Path, settings: ContextSettings, progress: Callable[[float], bool] | None = None
    ) -> ToyModel:
        toy = super().load(path, settings, progress)
        options = self.draft_options if path.name.startswith("draft") else self.target_options
        model = TimedModel(path, toy.logits_after, **options)  # type: ignore[arg-type]
        model.clock = self.clock
        drafts = path.name.startswith("draft")
        model.cost_of = self.draft_cost if drafts else self.target_cost
        model.context_class = TimedContext if drafts else self.target_context
        self.models[-1] = model
        return model
