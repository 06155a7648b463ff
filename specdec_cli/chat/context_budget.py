"""How full the context is, and what to leave out when it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from specdec_cli.chat.conversation import Conversation

WARN_AT = 0.8
"""From this share on the meter is a warning."""
_AFTER_DROPPING = 0.6
"""Turns are dropped until the prompt takes no more than this share: not one turn at a time, again and again."""
_BYTES_PER_TOKEN = 32
"""No text of people or programs has so many bytes per token; longer than this cannot fit, unread."""

WhenFull = Literal["ask", "drop", "summarise", "stop"]


@dataclass(frozen=True)
class Meter:
    """Tokens in the context, and how many it can hold."""

    used: int
    size: int

    @property
    def fraction(self) -> float:
        """0 … 1."""
        return min(1.0, self.used / self.size) if self.size else 0.0

    @property
    def is_nearly_full(self) -> bool:
        """Whether to warn."""
        return self.fraction >= WARN_AT


def answer_room(n_ctx: int) -> int:
    """Tokens that must be left for an answer to be worth beginning."""
    return max(4, min(256, n_ctx // 16))


def cannot_fit(text: str, n_ctx: int) -> bool:
    """Whether a text is too long for the context whatever its tokens: told without tokenizing megabytes."""
    return len(text) > _BYTES_PER_TOKEN * n_ctx


def turns_to_drop(
    conversation: Conversation, count_tokens: Callable[[Conversation], int], n_ctx: int
) -> int | None:
    """How many of the oldest sent turns to drop, at least one; the last always stays.

    None when even the last turn alone leaves no room for an answer. `count_tokens` measures a prompt.
    """
    most = len(conversation.sent) - 1
    for count in range(1, most + 1):
        if count_tokens(conversation.dropping(count)) <= _AFTER_DROPPING * n_ctx:
            return count
    if most > 0 and count_tokens(conversation.dropping(most)) + answer_room(n_ctx) <= n_ctx:
        return most
    return None
