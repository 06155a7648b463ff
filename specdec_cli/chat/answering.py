"""One answer: prefill what is new, generate, keep what came however it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from time import perf_counter

from specdec_cli.assemble import Engine
from specdec_cli.chat.conversation import Figures, Turn
from specdec_cli.chat.pace import PlainPace
from specdec_cli.chat.prompting import Prompt
from specdec_cli.draft.values import Outcome
from specdec_cli.engine.generation import Generation
from specdec_cli.engine.output import Piece
from specdec_cli.engine.statistics import Statistics
from specdec_cli.settings import GenerationSettings


@dataclass(frozen=True)
class Answered:
    """An answer and the tokens it consists of."""

    text: str
    token_ids: tuple[int, ...]
    generation: Generation
    shown_seconds: float
    """Of the generation, what went into showing it."""

    @property
    def was_stopped_before_it_began(self) -> bool:
        """Whether the user stopped it while the prompt was still being read, or before the first word."""
        return self.generation.finish_reason == "interrupt" and not self.token_ids


def generate_answer(
    engine: Engine,
    prompt: Prompt,
    limits: GenerationSettings,
    interrupted: Callable[[], bool],
    on_prefilled: Callable[[], None],
    on_pieces: Callable[[Sequence[Piece]], None],
    on_round: Callable[[Outcome], None] = lambda _outcome: None,
) -> Answered:
    """Generate until it ends or `interrupted`; a second Ctrl-C breaks off inside a round and is no error either."""
    generation, shown_seconds = engine.generate(limits, interrupted), 0.0
    try:
        generation.prefill(prompt.tokens)
        on_prefilled()
        with closing(iter(generation)) as rounds:
            for event in rounds:
                begun = perf_counter()
                on_round(event.outcome)
                on_pieces(event.pieces)
                shown_seconds += perf_counter() - begun
    except KeyboardInterrupt:
        generation.finish_reason = "interrupt"
    return Answered(generation.answer, tuple(generation.token_ids), generation, shown_seconds)


def figures_of(answered: Answered, pace: PlainPace, engine: Engine) -> Figures:
    """The answer in numbers. Where this chat has seen too little plain decoding, a policy may know its gain."""
    generation = answered.generation
    statistics: Statistics = generation.statistics
    summary = engine.policy_summary()
    gain = None
    if statistics.drafted:
        gain = pace.gain(statistics.tokens, generation.seconds)
        if gain is None and summary is not None:
            gain = summary.gain
    return Figures(
        tokens=len(answered.token_ids),
        seconds=generation.seconds,
        prompt_tokens=generation.prompt_tokens,
        prompt_seconds=generation.prompt_seconds,
        rounds=statistics.rounds,
        drafted=statistics.drafted,
        accepted=statistics.accepted,
        target_seconds=statistics.target_seconds,
        draft_seconds=statistics.draft_seconds,
        gain=gain,
    )


def answered_turn(asked: Turn, prompt: Prompt, answered: Answered, figures: Figures, model: str) -> Turn:
    """The turn as it goes into the conversation."""
    return Turn(
        user=asked.user,
        answer=answered.text,
        thinking_opened=prompt.opens_thinking,
        finish_reason=answered.generation.finish_reason,
        figures=figures,
        model=model,
    )
