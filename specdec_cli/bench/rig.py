"""Variants run as `specdec run` would run them, over weights that stay loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from specdec_cli.assemble import EngineRequest, assemble
from specdec_cli.bench.agreement import Gap
from specdec_cli.bench.kept_models import KeptModels
from specdec_cli.bench.values import Placement, RoundRecord, Variant
from specdec_cli.draft.catalog import DRAFTERS, PLAIN
from specdec_cli.draft.values import Outcome
from specdec_cli.engine.engine import Engine
from specdec_cli.engine.template import prompt_tokens
from specdec_cli.errors import SpecdecError
from specdec_cli.proof.ties import rows_and_noise
from specdec_cli.protocols import Backend
from specdec_cli.settings import DraftSettings, GenerationSettings, SamplingSettings

Loading = Callable[[str, float], bool]
_NOISE_TOKENS = 24
"""Before a difference, at which rounding is measured."""


@dataclass(frozen=True)
class Played:
    """One answer, before it is put into a block."""

    tokens: tuple[int, ...]
    """All that was committed, the token that ended the answer included."""
    seconds: float
    prompt_tokens: int
    prompt_seconds: float
    rounds: tuple[RoundRecord, ...]
    finish_reason: str
    estimated_gain: float | None
    """What a policy believes to have gained over plain decoding; None where none decided."""


class Rig:
    """Loaded models and one engine at a time. Every answer begins with a new drafter, as a new program would.

    The target's cache keeps the prompt between variants of the same placement, so that a prompt is read once
    per block; the generation that is timed begins at the same state either way.
    """

    def __init__(
        self,
        backend: Backend,
        draft_max: int,
        *,
        profiles: Path | None = None,
        loading: Loading | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """`draft_max`: the longest draft of all variants that will run. `profiles`: where a policy finds what it
        has measured of costs; without, it measures anew for every answer."""
        self._models = KeptModels(backend)
        self._draft_max = draft_max
        self._profiles = profiles
        self._loading = loading
        self._clock = clock
        self._engine: Engine | None = None
        self._placement: Placement | None = None

    def engine(self, placement: Placement) -> Engine:
        """The engine for a placement; another one's contexts are freed first."""
        if self._engine is None or self._placement != placement:
            self._free()
            self._engine = assemble(self._models, self._request(placement), self._loading)
            self._placement = placement
            self._refuse_without_rollback(self._engine)
        return self._engine

    def tokens_of(self, placement: Placement, prompt: str) -> list[int]:
        """The prompt by the target's chat template."""
        return prompt_tokens(self.engine(placement).target, prompt)

    def play(
        self,
        variant: Variant,
        prompt: Sequence[int],
        max_tokens: int,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Played:
        """One greedy answer. `finish_reason` is "interrupt" when it was broken off."""
        engine = self.engine(variant.placement)
        engine.drafting = replace(engine.drafting, draft_max=variant.draft_max)
        engine.parts = replace(engine.parts, draft_max=variant.draft_max)
        engine.use_drafter(variant.drafter, fresh=True)
        generation = engine.generate(GenerationSettings(max_tokens=max_tokens), interrupted, self._clock)
        generation.prefill(prompt)
        outcomes = [event.outcome for event in generation if event.outcome.tokens]
        policy = engine.policy_summary()
        return Played(
            tokens=tuple(token for outcome in outcomes for token in outcome.tokens),
            seconds=generation.seconds,
            prompt_tokens=generation.prompt_tokens,
            prompt_seconds=generation.prompt_seconds,
            rounds=tuple(_record(outcome) for outcome in outcomes),
            finish_reason=generation.finish_reason or "interrupt",
            estimated_gain=None if policy is None else policy.gain,
        )

    def gap_after(self, placement: Placement, text: Sequence[int], rivals: tuple[int, int]) -> Gap:
        """How far apart the target has two tokens after `text`, and what rounding does to distances there."""
        engine = self.engine(placement)
        engine.use_drafter(PLAIN, fresh=True)
        session = engine.session
        session.start(text)
        start = max(0, len(text) - _NOISE_TOKENS)
        rows, noise = rows_and_noise(session.target, start, text[start:])
        session.settle()
        first, second = (float(rows[-1][token]) for token in rivals)
        return Gap(abs(first - second), noise)

    def close(self) -> None:
        """Contexts, then weights."""
        self._free()
        self._models.close()

    def _free(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _refuse_without_rollback(self, engine: Engine) -> None:
        if engine.rolls_back is False:
            raise SpecdecError(
                f"{engine.target.path.name} cannot speculate: its memory cannot drop rejected tokens",
                hint="there is nothing to compare plain decoding with",
                code="arch.no_rollback",
            )

    def _request(self, placement: Placement) -> EngineRequest:
        return EngineRequest(
            target=placement.target,
            draft=placement.draft,
            target_settings=placement.target_settings,
            draft_settings=placement.draft_settings,
            drafting=DraftSettings(drafter=_opener(placement), draft_max=self._draft_max),
            sampling=SamplingSettings(),
            profiles=self._profiles,
            explicit_ctx=placement.explicit_ctx,
        )


def _opener(placement: Placement) -> str:
    """A drafter for which `assemble` opens all that this placement has, and measures nothing yet."""
    if placement.draft is None:
        return PLAIN
    return next(name for name, kind in DRAFTERS.items() if kind.needs.own_context)


def _record(outcome: Outcome) -> RoundRecord:
    drafted = len(outcome.draft)
    return RoundRecord(
        rows=1 + drafted,
        target_seconds=outcome.target_seconds,
        draft_seconds=outcome.draft_seconds,
        drafted=drafted,
        accepted=len(outcome.path),
        tokens=len(outcome.tokens),
        source=outcome.draft.source,
    )
