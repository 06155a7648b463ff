"""The conversation as a value: what was said, what of it is still sent, and how each answer went."""

from __future__ import annotations

from dataclasses import dataclass, replace

from specdec_cli.engine.generation import FinishReason


@dataclass(frozen=True)
class Figures:
    """One answer in numbers. Times in seconds."""

    tokens: int = 0
    seconds: float = 0.0
    prompt_tokens: int = 0
    """The whole prompt; most of it is in the caches already."""
    prompt_seconds: float = 0.0
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    target_seconds: float = 0.0
    draft_seconds: float = 0.0
    gain: float | None = None
    """Speed relative to plain decoding; None where nothing is known of plain decoding here."""

    @property
    def tokens_per_second(self) -> float:
        """0 when nothing was generated."""
        return self.tokens / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Turn:
    """One message of the user and what the model made of it."""

    user: str
    answer: str | None = None
    """What the model said, as it said it, thinking included; None while unanswered."""
    thinking_opened: bool = False
    """Whether the prompt itself opened a thinking block, so that the answer begins inside it."""
    finish_reason: FinishReason | None = None
    figures: Figures = Figures()
    model: str = ""
    """Which model answered."""

    @property
    def is_answered(self) -> bool:
        """Whether the model has said anything."""
        return self.answer is not None


@dataclass(frozen=True)
class Conversation:
    """All turns ever made, in order. `dropped` counts the oldest ones that are no longer sent to the model;
    `summary` stands for them where the model made one. Only the last turn may be unanswered."""

    system: str | None = None
    turns: tuple[Turn, ...] = ()
    dropped: int = 0
    summary: str = ""

    @property
    def sent(self) -> tuple[Turn, ...]:
        """The turns that the model sees."""
        return self.turns[self.dropped :]

    @property
    def answered(self) -> tuple[Turn, ...]:
        """The turns with an answer."""
        return tuple(turn for turn in self.turns if turn.is_answered)

    @property
    def pending(self) -> Turn | None:
        """The last turn, while it waits for an answer."""
        return self.turns[-1] if self.turns and not self.turns[-1].is_answered else None

    def asking(self, text: str) -> Conversation:
        """With a new message; one that was never answered gives way to it."""
        return self._with_turns((*self.answered, Turn(text)))

    def answering(self, turn: Turn) -> Conversation:
        """With the last turn replaced by its answered form."""
        return self._with_turns((*self.turns[:-1], turn))

    def without_last(self) -> Conversation:
        """One turn shorter."""
        return self._with_turns(self.turns[:-1])

    def asking_again(self) -> Conversation:
        """With the last turn unanswered."""
        return self._with_turns((*self.turns[:-1], Turn(self.turns[-1].user)))

    def dropping(self, count: int, summary: str = "") -> Conversation:
        """With the oldest `count` of the sent turns no longer sent. Their summary replaces the one before,
        which it covers; without a new one, the one before stays."""
        return replace(self, dropped=self.dropped + count, summary=summary or self.summary)

    def _with_turns(self, turns: tuple[Turn, ...]) -> Conversation:
        return replace(self, turns=turns, dropped=min(self.dropped, max(len(turns) - 1, 0)))
