"""Making the conversation fit: ask what to leave out, never leave anything out unasked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specdec_cli.chat.context_budget import answer_room, turns_to_drop
from specdec_cli.chat.conversation import Conversation, Turn
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
    if len(prompt.tokens) + answer_room(n_ctx) <= n_ctx:
        return conversation, prompt
    count = turns_to_drop(conversation, lambda shorter: len(prompts.build(shorter).tokens), n_ctx)
    if count is None:
        last = Conversation(conversation.system, (Turn(conversation.turns[-1].user),))
        size = len(prompts.build(last).tokens)
        raise SpecdecError(
            f"the message takes {size} tokens with the system prompt; a context of {n_ctx} has no room for it",
            hint="shorten it, or /set ctx N",
            code="context.prompt_too_long",
        )
    choice = _choose(chat, len(prompt.tokens), n_ctx, f"{count} of {len(conversation.sent) - 1}")
    summary = ""
    if choice == "summarise":
        made = summarise(chat, prompts, conversation, count)
        if made is None:
            return None
        summary = made
    elif choice == "stop":
        return None
    shorter = conversation.dropping(count, summary)
    prompt = prompts.build(shorter)
    if len(prompt.tokens) + answer_room(n_ctx) > n_ctx:
        raise SpecdecError("there is no room beside the summary", hint="drop the oldest turns instead")
    what = "summarised" if summary else "dropped"
    chat.view.note(f"{count} oldest turn{'s' if count > 1 else ''} {what}; the session file keeps them")
    return shorter, prompt


def _choose(chat: Chat, tokens: int, n_ctx: int, how_many: str) -> str:
    full = f"the context is full: {tokens} tokens and room for an answer do not fit into {n_ctx}"
    if chat.when_full != "ask":
        return chat.when_full
    if not chat.terminal.is_interactive:
        raise SpecdecError(full, hint="--when-full drop or summarise goes on without asking")
    chat.view.warning(full)
    choices = {**CHOICES, "drop": f"{CHOICES['drop']} ({how_many})"}
    return chat.terminal.choose("What now?", choices, "stop")
