"""Drafts of what a grammar leaves no choice about: `, "age": ` after a name, `}` at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from specdec_cli.draft.pieces import PieceIndex
from specdec_cli.draft.values import Budget, Draft, DrafterNeeds, Outcome
from specdec_cli.protocols import TokenText

FORCED = "grammar"
"""Source of drafts in which every token is the only one allowed."""
LIKELY = "grammar-text"
"""Source of drafts whose text is forced, but not how it is cut into tokens."""

_BYTES_PER_TOKEN = 6
_INNER, _LAST, _ASTRAY, _ONLY = range(4)
"""Kinds of tokens: within the forced text; at its end, where the model may prefer one that goes on; after a wrong
one, where the model wanted another word and spells this one out; and the only one that is allowed."""
_SUCCESS = (0.9, 0.6, 0.4, 1.0)
_GAIN = 0.1
_LEAST = 0.35
"""Drafting ends before a token that is right less often than this, given that those before it are right."""
_WORTHLESS = 0.2
"""And where the chance that all are right falls below this."""


class _Guess(NamedTuple):
    token: int
    kind: int


class ForcedDrafter:
    """Proposes the text that must come next.

    The text is certain; its tokens often are not: a grammar does not mind whether `name` is written in one token
    or in four. They are guessed as the model's own tokenizer would cut it, and what the target makes of that is
    remembered. A token that is the only one allowed is accepted for certain.
    """

    name: ClassVar[str] = FORCED
    needs: ClassVar[DrafterNeeds] = DrafterNeeds()
    seconds = 0.0
    notice: str | None = None

    def __init__(self, text: TokenText) -> None:
        self._text = text
        self._pieces = PieceIndex([text.piece(token) for token in range(text.n_vocab)])
        self._success = list(_SUCCESS)
        self._ahead = b""
        self._goes_on = False
        """Whether the forced text may be longer than `_ahead`."""
        self._guesses: list[_Guess] = []
        self._is_astray = False

    def begin(self, tokens: Sequence[int]) -> None:
        """Another text, and the grammar anew."""
        self._ahead, self._guesses, self._is_astray = b"", [], False

    def observe(self, tokens: Sequence[int]) -> None:
        """`tokens` were committed: learn how the model cuts its text, whether the guess was proposed or not."""
        for guess, actual in zip(self._guesses, tokens, strict=False):
            right = guess.token == actual
            self._success[guess.kind] += _GAIN * (right - self._success[guess.kind])
            self._is_astray = not right
            if not right:
                break
        self._guesses = []
        self._ahead = self._ahead[sum(len(self._text.piece(token)) for token in tokens) :]

    def propose(self, budget: Budget) -> Draft:
        """Tokens for the forced text; empty where the grammar leaves a choice, and where there is none."""
        self._guesses = []
        if budget.constraint is None or budget.max_tokens < 1:
            return Draft()
        limit = _BYTES_PER_TOKEN * budget.max_tokens
        if not self._ahead or (self._goes_on and len(self._ahead) < limit):
            self._ahead = budget.constraint.forced(limit)
            self._goes_on = len(self._ahead) == limit
        self._guesses = self._guess()[: budget.max_tokens]
        return self._draft(budget)

    def accept(self, outcome: Outcome) -> None:
        """As `observe`."""
        self.observe(outcome.tokens)

    def close(self) -> None:
        """Nothing to free."""

    def _guess(self) -> list[_Guess]:
        """The text ahead as tokens, each with its kind."""
        guesses: list[_Guess] = []
        start = 0
        for token in self._cut():
            rest = self._ahead[start:]
            start += len(self._text.piece(token))
            if self._pieces.has_one_beginning(rest):
                kind = _ONLY
            elif self._is_astray and not guesses:
                kind = _ASTRAY
            else:
                kind = _LAST if start == len(self._ahead) else _INNER
            guesses.append(_Guess(token, kind))
        # Where the text was broken off rather than ended, so may be its last token.
        return guesses[:-1] if self._goes_on else guesses

    def _cut(self) -> list[int]:
        tokens = self._text.tokenize(
            self._ahead.decode("utf-8", "ignore"), add_special=False, parse_special=False
        )
        # Some tokenizers put a space before every text, and none can begin within a character.
        if b"".join(self._text.piece(token) for token in tokens) != self._ahead:
            return self._pieces.cut(self._ahead)
        return tokens

    def _draft(self, budget: Budget) -> Draft:
        chosen: list[_Guess] = []
        chance = 1.0
        for guess in self._guesses:
            success = self._success[guess.kind]
            chance *= success
            if success < _LEAST or chance < _WORTHLESS:
                break
            chosen.append(guess)
            if budget.keep_going and not budget.keep_going(len(chosen), success):
                break
        if not chosen:
            return Draft()
        return Draft.chain(
            [guess.token for guess in chosen],
            confidences=[self._success[guess.kind] for guess in chosen],
            source=FORCED if all(guess.kind == _ONLY for guess in chosen) else LIKELY,
        )
