"""A conversation as the messages that chat templates take."""

from __future__ import annotations

from dataclasses import replace

from specdec_cli.chat.conversation import Conversation, Turn
from specdec_cli.chat.thinking import CLOSE, OPEN, split_thinking
from specdec_cli.engine.template import ChatTemplate, Message
from specdec_cli.errors import SpecdecError

SUMMARY_HEADING = "Summary of the conversation so far:"


def system_text(conversation: Conversation) -> str | None:
    """The system prompt and, where old turns were summarised, their summary."""
    parts = [conversation.system] if conversation.system else []
    if conversation.summary and conversation.dropped:
        parts.append(f"{SUMMARY_HEADING}\n{conversation.summary}")
    return "\n\n".join(parts) or None


def render(template: ChatTemplate, conversation: Conversation) -> str:
    """The prompt text for the next answer.

    A model without a system role gets the system prompt before the first message: it must not be lost.
    Raises `SpecdecError` when the template refuses the conversation all the same, or is broken.
    """
    system = system_text(conversation)
    spoken = [message for turn in conversation.sent for message in _turn(template, turn)]
    if system is None:
        return template.render(spoken)
    try:
        text = template.render([{"role": "system", "content": system}, *spoken])
        if system.strip() in text:
            return text
    except SpecdecError as error:
        if error.code != "template.refused":
            raise
    first = {**spoken[0], "content": f"{system}\n\n{spoken[0]['content']}"}
    return template.render([first, *spoken[1:]])


def transcript(conversation: Conversation) -> str:
    """The prompt text for a model that carries no template."""
    system = system_text(conversation)
    lines = [f"{system}\n\n"] if system else []
    for turn in conversation.sent:
        lines.append(f"User: {turn.user}\nAssistant:")
        if turn.answer is not None:
            lines.append(f"{turn.answer}\n")
    return "".join(lines)


TRANSCRIPT_STOP = ("\nUser:",)
"""Where an answer ends when no template marks it."""


def without_thinking(turn: Turn) -> Turn:
    """The turn with the answer alone."""
    if turn.answer is None:
        return turn
    said = split_thinking(turn.answer, turn.thinking_opened)
    return replace(turn, answer=said.answer, thinking_opened=False)


def _turn(template: ChatTemplate, turn: Turn) -> list[Message]:
    """Thinking goes where the template looks for it; the template decides whether it is sent back."""
    user: Message = {"role": "user", "content": turn.user}
    if turn.answer is None:
        return [user]
    said = split_thinking(turn.answer, turn.thinking_opened)
    assistant = {"role": "assistant", "content": turn.answer}
    if said.thinking and "reasoning_content" in template.source:
        assistant |= {"content": said.answer, "reasoning_content": said.thinking}
    elif said.thinking and CLOSE in template.source:
        # Cut short before it closed: the template would not know it for thinking.
        closed = CLOSE in turn.answer
        opening = f"{OPEN}\n" if turn.thinking_opened else ""
        assistant["content"] = opening + turn.answer if closed else said.answer
    elif turn.thinking_opened:
        assistant["content"] = said.answer
    return [user, assistant]
