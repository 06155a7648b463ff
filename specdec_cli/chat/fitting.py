"""Making the conversation fit: ask what to leave out, never leave anything out unasked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from specdec_cli.chat.context_budget import answer_room, turns_to_drop
from specdec_cli.chat.conversation import Conversation
from specdec_cli.chat.prompting import Prompt, PromptBuilder
from specdec_cli.chat.summarising import summarise
from specdec_cli.errors import SpecdecError

if TYPE_CHECKING:
    from specdec_cli.chat.chat import Chat

CHOICES = {
    "drop": "drop the oldest turns",
    "summarise": "let the model summarise them",
    "stop": "stop here",
}


def fit(chat: Chat, prompts: PromptBuilder, conversation: Conversation) -> tuple[Conversation, Prompt] | None:
    """The conversation as it can be sent, and its prompt; None when the user chose to stop.

    Raises `SpecdecError` when the last message alone is too long.
    """
    prompt = prompts.build(conversation)
    n_ctx = chat.require_loaded().engine.session.target.n_ctx
    choice: str | None = None
    while len(prompt.tokens) + answer_room(n_ctx) > n_ctx:
        count = turns_to_drop(conversation, lambda shorter: len(prompts.build(shorter).tokens), n_ctx)
        if count is None:
            raise _too_long(prompts, conversation, n_ctx)
        if choice is None:
            choice = _choose(chat, len(prompt.tokens), n_ctx, f"{count} of {len(conversation.sent) - 1}")
        if choice == "stop":
            return None
        if choice == "drop":
            conversation = conversation.dropping(count)
        else:
            summarised = summarise(chat, prompts, conversation, count)
            if summarised is None:
                return None
            conversation, count = summarised
        what = "summarised" if choice == "summarise" else "dropped"
        chat.view.note(f"{count} oldest turn{'s' if count > 1 else ''} {what}; the session file keeps them")
        prompt = prompts.build(conversation)
    return conversation, prompt


def _too_long(prompts: PromptBuilder, conversation: Conversation, n_ctx: int) -> SpecdecError:
    last = replace(conversation, turns=conversation.turns[-1:], dropped=0, summary="")
    what = "the message takes"
    if conversation.system:
        what = "the message and the system prompt take"
    return SpecdecError(
        f"{what} {len(prompts.build(last).tokens)} tokens; a context of {n_ctx} has no room for that and an answer",
        hint="shorten it, or /set ctx N",
        code="context.prompt_too_long",
    )


def _choose(chat: Chat, tokens: int, n_ctx: int, how_many: str) -> str:
    full = f"the context is full: {tokens} tokens and room for an answer do not fit into {n_ctx}"
    if chat.when_full != "ask":
        return chat.when_full
    if not chat.terminal.is_interactive:
        raise SpecdecError(full, hint="--when-full drop or summarise goes on without asking")
    chat.view.warning(full)
    choices = {**CHOICES, "drop": f"{CHOICES['drop']} ({how_many})"}
    return chat.terminal.choose("What now?", choices, "stop")
