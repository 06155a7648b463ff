"""What answers show of speed in passing, remembered for `check`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from specdec_cli.cli.requests import EngineOptions
from specdec_cli.draft.profile_store import file_identity
from specdec_cli.hardware.values import Machine
from specdec_cli.registry.measured_speeds import SpeedKey, model_key, record_run
from specdec_cli.registry.past_speeds import PastRun
from specdec_cli.registry.tuned import machine_key

if TYPE_CHECKING:  # `check` looks speeds up without an engine
    from specdec_cli.cli.models import ChosenModels
    from specdec_cli.draft.ledger import PolicySummary
    from specdec_cli.draft.values import Drafter
    from specdec_cli.engine.engine import Engine
    from specdec_cli.engine.generation import Generation
    from specdec_cli.engine.statistics import Statistics

ENOUGH_TOKENS = 32
"""A shorter answer tells little of speed."""


def speed_key(options: EngineOptions, target: Path, draft: Path | None, machine: Machine) -> SpeedKey | None:
    """What speeds of these files with these options hold for; None when a file is gone.

    The machine's devices are part of it: the same computer is another one once llama.cpp was built for its GPU.
    """
    target_settings, draft_settings = options.context_settings(default_threads=1)
    devices = ", ".join(device.name for device in machine.devices)
    try:
        return SpeedKey(
            machine=f"{machine_key()} {devices}",
            target=model_key(file_identity(target), target_settings),
            draft=None if draft is None else model_key(file_identity(draft), draft_settings),
        )
    except OSError:
        return None


class AnswerRecorder:
    """Hears of every answer of one engine, also of those that do not count, and remembers how fast it was."""

    def __init__(
        self, options: EngineOptions, models: ChosenModels, engine: Engine, machine: Machine
    ) -> None:
        """`options`: what the engine was made with. A draft that was not loaded is no part of its speed."""
        draft = models.draft.path if models.draft is not None and engine.draft is not None else None
        self._key = speed_key(options, models.target.path, draft, machine)
        self._engine = engine
        self._gains = AnswerGains()

    def __call__(self, generation: Generation, shown_seconds: float) -> None:
        """An answer ended. `shown_seconds` of its time went into showing it: a terminal that is held up does not
        make a model slow."""
        engine, statistics = self._engine, generation.statistics
        gain = self._gains.of(engine.session.drafter, engine.policy_summary(), statistics)
        tokens, seconds = len(generation.token_ids), generation.seconds - shown_seconds
        enough = tokens >= ENOUGH_TOKENS and generation.finish_reason != "interrupt"
        if self._key is None or not enough or seconds <= 0:
            return
        speed, plain = tokens / seconds, None
        if gain is not None:
            plain = speed / gain
        elif not statistics.drafted and not statistics.draft_seconds:
            plain = speed
        run = PastRun(
            tokens=tokens,
            tokens_per_second=speed,
            plain_tps=plain,
            drafter=engine.drafting.drafter,
            speculated=statistics.drafted > 0,
            at=datetime.now().astimezone(),
        )
        record_run(self._key, run)


class AnswerGains:
    """What a policy gained in single answers, from what it says of everything it did."""

    def __init__(self) -> None:
        self._drafter: Drafter | None = None
        self._rounds = 0
        self._tokens = 0
        self._steps = 0.0
        """Tokens ÷ gain: the time of all answers so far, in plain steps."""

    def of(self, drafter: Drafter, summary: PolicySummary | None, answer: Statistics) -> float | None:
        """The gain over plain decoding in the answer that ended just now; None where no policy decides, or where
        it has also been at work unheard."""
        if summary is None or not summary.gain:
            return None
        if drafter is not self._drafter:
            self._drafter, self._rounds, self._tokens, self._steps = drafter, 0, 0, 0.0
        rounds = sum(summary.rounds.values())
        if rounds != self._rounds + answer.rounds:
            return None
        tokens = self._tokens + answer.tokens
        steps = tokens / summary.gain
        before, self._rounds, self._tokens, self._steps = self._steps, rounds, tokens, steps
        return answer.tokens / (steps - before) if steps > before else None
