"""From a conversation to the token ids that the session is started with.

The text is rendered anew each turn, by the model's own template. Where it begins with the text of a prompt and
the answer to it, their token ids are taken over as they are: what the model wrote need not be what the tokenizer
would make of the same text, and the caches hold what the model wrote. A template that changes earlier text
(drops thinking, trims answers) leaves a shorter common beginning, and only that much is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specdec_cli.chat.conversation import Conversation
from specdec_cli.chat.messages import TRANSCRIPT_STOP, render, transcript
from specdec_cli.chat.thinking import prompt_opens_thinking
from specdec_cli.engine.template import ChatTemplate
from specdec_cli.protocols import LoadedModel


@dataclass(frozen=True)
class Prompt:
    """What the model is given."""

    text: str
    tokens: tuple[int, ...]
    opens_thinking: bool


@dataclass(frozen=True)
class _Seam:
    """A place right after an answer, where text and tokens can be cut alike."""

    characters: int
    tokens: int


class PromptBuilder:
    """Prompts for one loaded model; remembers the tokens of its own answers."""

    def __init__(self, model: LoadedModel) -> None:
        self._vocabulary = model.text
        self._template = (
            ChatTemplate(model.chat_template, *model.template_tokens) if model.chat_template else None
        )
        self._known = Prompt("", (), False)
        self._seams: list[_Seam] = []

    @property
    def has_template(self) -> bool:
        """Whether the model says how to write a conversation."""
        return self._template is not None

    @property
    def stop(self) -> tuple[str, ...]:
        """Texts that end an answer beside the model's own end tokens."""
        return () if self._template else TRANSCRIPT_STOP

    def build(self, conversation: Conversation) -> Prompt:
        """The prompt for the next answer. Raises `SpecdecError` when the template refuses it."""
        text = render(self._template, conversation) if self._template else transcript(conversation)
        return Prompt(text, self._tokens(text), prompt_opens_thinking(text))

    def remember(self, prompt: Prompt, answer: str, token_ids: Sequence[int]) -> None:
        """The model answered `prompt` with these tokens: use them when the answer is sent back."""
        if not answer or self._spelled(token_ids) != answer:
            return  # cut inside a character, or ended by a stop string
        self._seams = [seam for seam in self._seams if self._is_in(seam, prompt)]
        tokens = (*prompt.tokens, *token_ids)
        self._known = Prompt(prompt.text + answer, tokens, False)
        self._seams.append(_Seam(len(self._known.text), len(tokens)))

    def _tokens(self, text: str) -> tuple[int, ...]:
        for seam in reversed(self._seams):
            rest = text[seam.characters :]
            if rest and text.startswith(self._known.text[: seam.characters]):
                following = self._tokenize(rest, add_special=False)
                if following and self._is_control(following[0]):
                    return (*self._known.tokens[: seam.tokens], *following)
        return tuple(self._tokenize(text, add_special=self._template is None))

    def _tokenize(self, text: str, *, add_special: bool) -> list[int]:
        return self._vocabulary.tokenize(
            text, add_special=add_special, parse_special=self._template is not None
        )

    def _is_control(self, token: int) -> bool:
        """A control token splits the text for the tokenizer: what follows does not depend on what was before."""
        return self._vocabulary.is_end_of_generation(token) or not self._vocabulary.piece(token)

    def _is_in(self, seam: _Seam, prompt: Prompt) -> bool:
        known = self._known
        return (
            prompt.text[: seam.characters] == known.text[: seam.characters]
            and prompt.tokens[: seam.tokens] == known.tokens[: seam.tokens]
        )

    def _spelled(self, tokens: Sequence[int]) -> str:
        data = b"".join(self._vocabulary.piece(token) for token in tokens)
        return data.decode("utf-8", "replace")
