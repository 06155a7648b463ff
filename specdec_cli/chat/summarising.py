"""Old turns in the model's own words, when they no longer fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from specdec_cli.chat.answering import generate_answer
from specdec_cli.chat.context_budget import answer_room
from specdec_cli.chat.conversation import Conversation, Turn
from specdec_cli.chat.prompting import Prompt, PromptBuilder
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


def summarise(
    chat: Chat, prompts: PromptBuilder, conversation: Conversation, count: int
) -> tuple[Conversation, int] | None:
    """The conversation with a summary in place of its oldest turns: `count` of those sent, or as many as can be
    read together; and how many that were. None when it was stopped.

    Raises `SpecdecError` when not even one leaves room for a summary.
    """
    n_ctx = chat.require_loaded().engine.session.target.n_ctx
    room = max(answer_room(n_ctx), min(_MOST_TOKENS, n_ctx // 8))
    while count > 0:
        old = conversation.turns[: conversation.dropped + count]
        prompt = prompts.build(replace(conversation, turns=(*old, Turn(REQUEST))))
        if len(prompt.tokens) + room <= n_ctx:
            break
        count -= 1
    else:
        raise SpecdecError(
            "the oldest turn is too long to be summarised", hint="drop the oldest turns instead"
        )
    summary = _write(chat, prompt, GenerationSettings(max_tokens=room, stop=prompts.stop), count)
    return (conversation.dropping(count, summary), count) if summary is not None else None


def _write(chat: Chat, prompt: Prompt, limits: GenerationSettings, count: int) -> str | None:
    """Let the model write it; None when it was stopped or says nothing."""
    loaded, ended = chat.require_loaded(), chat.terminal.answering()
    try:
        what = f"summarising {count} turn{'s' if count > 1 else ''}"
        with chat.view.waiting(what), chat.interrupts() as interrupted:
            answered = generate_answer(
                loaded.engine,
                prompt,
                limits,
                interrupted,
                on_prefilled=lambda: None,
                on_pieces=lambda _pieces: None,
            )
    finally:
        ended()
    loaded.on_answer(answered.generation, answered.shown_seconds)
    summary = split_thinking(answered.text, prompt.opens_thinking).answer.strip()
    if answered.generation.finish_reason == "interrupt" or not summary:
        chat.view.note("no summary was made; nothing has changed")
        return None
    chat.view.note(f"summary: {summary}")
    return summary
