"""Old turns in the model's own words, when they no longer fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from specdec_cli.chat.answering import generate_answer
from specdec_cli.chat.context_budget import answer_room
from specdec_cli.chat.conversation import Conversation, Turn
from specdec_cli.chat.prompting import PromptBuilder
from specdec_cli.chat.thinking import split_thinking
from specdec_cli.errors import SpecdecError
from specdec_cli.settings import GenerationSettings

if TYPE_CHECKING:
    from specdec_cli.chat.chat import Chat

REQUEST = (
    "Summarise our conversation so far in one paragraph of at most 120 words. "
    "Keep names, numbers, decisions and open questions."
)
_MOST_TOKENS = 256


def summarise(chat: Chat, prompts: PromptBuilder, conversation: Conversation, count: int) -> str | None:
    """A summary of the oldest `count` sent turns, and of those summarised before; None when it was stopped.

    Raises `SpecdecError` when these turns alone leave no room to write one. The conversation stays as it is.
    """
    engine = chat.require_loaded().engine
    n_ctx = engine.session.target.n_ctx
    old = conversation.turns[: conversation.dropped + count]
    prompt = prompts.build(replace(conversation, turns=(*old, Turn(REQUEST))))
    room = n_ctx - len(prompt.tokens)
    if room < answer_room(n_ctx):
        raise SpecdecError("the oldest turns are too long to be summarised", hint="drop them instead")
    limits = GenerationSettings(max_tokens=min(_MOST_TOKENS, room), stop=prompts.stop)
    ended = chat.terminal.answering()
    try:
        with chat.view.waiting(f"summarising {count} turns"), chat.interrupts() as interrupted:
            answered = generate_answer(
                engine, prompt, limits, interrupted, lambda: None, lambda _pieces: None
            )
    finally:
        ended()
    summary = split_thinking(answered.text, prompt.opens_thinking).answer.strip()
    if answered.generation.finish_reason == "interrupt" or not summary:
        chat.view.note("no summary was made; nothing has changed")
        return None
    chat.view.note(f"summary: {summary}")
    return summary
