"""A generation: rounds until a limit, a stop, or an interruption."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from specdec_cli.draft.values import Budget, Outcome
from specdec_cli.engine.output import Piece, TextStream
from specdec_cli.engine.round import play_round
from specdec_cli.engine.session import Session
from specdec_cli.engine.statistics import Statistics
from specdec_cli.protocols import TokenText
from specdec_cli.settings import GenerationSettings

FinishReason = Literal["stop", "length", "context", "interrupt"]


@dataclass(frozen=True)
class RoundEvent:
    """One round, told to whoever listens: what was judged, and the text that became ready."""

    outcome: Outcome
    pieces: tuple[Piece, ...]


class Generation:
    """One answer. Iterate to play its rounds; read the rest afterwards, also after stopping in the middle."""

    def __init__(
        self,
        session: Session,
        text: TokenText,
        settings: GenerationSettings,
        draft_max: int,
        interrupted: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._session = session
        self._text = text
        self._settings = settings
        self._draft_max = draft_max
        self._interrupted = interrupted
        self._clock = clock
        self._stream = TextStream(text, settings.stop)
        self._ready: list[Piece] = []
        self._written: list[str] = []
        self.finish_reason: FinishReason | None = None
        self.token_ids: list[int] = []
        """The answer's tokens, without the one that ended it."""
        self.statistics = Statistics()
        self.prompt_tokens = 0
        self.prompt_seconds = 0.0
        self.seconds = 0.0

    @property
    def answer(self) -> str:
        """All text given out so far."""
        return "".join(self._written)

    @property
    def unfinished(self) -> bool:
        """Whether the answer broke off where its grammar does not let a text end."""
        constraint = self._session.constraint
        return constraint is not None and not constraint.ended and not constraint.complete

    def prefill(self, prompt: Sequence[int]) -> None:
        """Decode the prompt in both models. Sets `finish_reason` to "interrupt" when stopped meanwhile."""
        begun = self._clock()
        self.prompt_tokens = len(prompt)
        try:
            self._session.start(prompt, self._interrupted)
        except KeyboardInterrupt:
            self.finish_reason = "interrupt"
        self.prompt_seconds = self._clock() - begun

    def __iter__(self) -> Generator[RoundEvent, None, None]:
        """Play rounds; between two of them both caches are consistent, wherever the consumer stops."""
        session, begun = self._session, self._clock()
        try:
            while self._may_continue():
                outcome = play_round(session, self._budget(), self._keep)
                self.statistics.add(outcome)
                yield RoundEvent(outcome, self._give_out(self._ready))
        finally:
            self.seconds += self._clock() - begun
            session.settle()
        held = self._give_out(self._stream.finish())
        if held:
            yield RoundEvent(Outcome(session.no_draft, (), ()), held)

    def _may_continue(self) -> bool:
        if self.finish_reason is None:
            if self._session.constraint is not None and self._session.constraint.ended:
                self.finish_reason = "stop"
            elif self._interrupted():
                self.finish_reason = "interrupt"
            elif len(self.token_ids) >= self._settings.max_tokens:
                self.finish_reason = "length"
            elif len(self._session.committed) >= self._session.target.n_ctx:
                self.finish_reason = "context"
        return self.finish_reason is None

    def _budget(self) -> Budget:
        """A draft may fill neither the context, nor the answer, nor the target's rows: one token is its own."""
        target = self._session.target
        room = target.n_ctx - len(self._session.committed) - 1
        wanted = self._settings.max_tokens - len(self.token_ids) - 1
        most = max(0, min(self._draft_max, room, wanted, target.max_rows - 1))
        return Budget(most, constraint=self._session.constraint)

    def _keep(self, tokens: Sequence[int], drafted: int) -> int:
        """Take the round's tokens one by one until one of them ends the answer; what follows is dropped."""
        for index, token in enumerate(tokens):
            if self._text.is_end_of_generation(token):
                self.finish_reason = "stop"
                return index + 1
            self.token_ids.append(token)
            self._ready += self._stream.push(token, index < drafted)
            if self._stream.stopped_by is not None:
                self.finish_reason = "stop"
                return index + 1
        return len(tokens)

    def _give_out(self, pieces: list[Piece]) -> tuple[Piece, ...]:
        given = tuple(pieces)
        self._written += [piece.text for piece in given]
        self._ready = []
        return given
