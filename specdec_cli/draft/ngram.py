"""Drafts copied from the text so far, prompt included: free, and strong on edits, code and quotations."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from itertools import cycle, islice
from typing import ClassVar

from specdec_cli.draft.ngram_index import LONGEST_MATCH, Match, NgramIndex
from specdec_cli.draft.values import Budget, Draft, DrafterNeeds, Outcome

MAX_DRAFT = 32
"""The longest draft; beyond it a copy is continued in the next round at no loss worth having."""

_BUCKET_STARTS = (1, 2, 3, 4, 6, 12, 24)
"""Match lengths are told apart as 1, 2, 3, 4 to 5, 6 to 11, 12 to 23, and more."""
_PRIOR_SUCCESS = (0.25, 0.45, 0.6, 0.7, 0.8, 0.9, 0.95)
_PRIOR_WEIGHT = 4.0
_WORTHLESS = 0.05
"""Drafting ends when the chance that a token is reached falls below this."""
_MEMORY = 0.97
"""How much of an earlier observation's weight is left after one more of the same kind."""

_ONCE, _AGREED, _SPLIT = range(3)
"""Kinds of evidence: the match occurred once, several times with the same next token, or with various."""


class MatchRecord:
    """How often the token after a match of some length and kind was right, so far and lately."""

    def __init__(self) -> None:
        priors = [prior for prior in _PRIOR_SUCCESS for _ in range(3)]
        self._right = [_PRIOR_WEIGHT * prior for prior in priors]
        self._seen = [_PRIOR_WEIGHT] * len(priors)
        self.success = priors
        """Per cell, the chance that the next token is right, 0 … 1, exclusive."""
        longest = LONGEST_MATCH + MAX_DRAFT
        self.first_cell = [3 * (bisect(_BUCKET_STARTS, length) - 1) for length in range(longest + 1)]
        """Per match length, its cell of kind `_ONCE`; the other two kinds follow."""

    def learn(self, cell: int, right: bool) -> None:
        """The token after such a match was right, or not."""
        prior = _PRIOR_WEIGHT * _PRIOR_SUCCESS[cell // 3]
        self._right[cell] = prior + (self._right[cell] - prior) * _MEMORY + right
        self._seen[cell] = _PRIOR_WEIGHT + (self._seen[cell] - _PRIOR_WEIGHT) * _MEMORY + 1.0
        self.success[cell] = self._right[cell] / self._seen[cell]


class NgramDrafter:
    """Looks up the longest earlier match of the text's end and proposes what followed it.

    Of several matches of that length, each next token is the most frequent one, the most recent on a tie;
    occurrences that disagree with it no longer have a say. A match that runs into the text's own end goes on
    with its own draft, so a repeating pattern is drafted in full. Deterministic: every token is a point mass.
    Confidences are the success rate of earlier drafts after matches of the same length.
    """

    name: ClassVar[str] = "ngram"
    needs: ClassVar[DrafterNeeds] = DrafterNeeds()
    seconds = 0.0
    notice: str | None = None

    def __init__(self, *, max_draft: int = MAX_DRAFT, min_match: int = 2) -> None:
        self._index = NgramIndex(min_match)
        self._max_draft = max_draft
        self._record = MatchRecord()
        self._proposed: list[int] = []
        self._cells: list[int] = []

    def begin(self, tokens: Sequence[int]) -> None:
        """Keep the part of the index that `tokens` shares with the text known so far, add the rest."""
        common = common_prefix(self._index.tokens, tokens)
        self._index.truncate(common)
        self._index.extend(tokens[common:])
        self._proposed = []

    def observe(self, tokens: Sequence[int]) -> None:
        """`tokens` were committed."""
        self._learn(tokens)
        self._index.extend(tokens)

    def propose(self, budget: Budget) -> Draft:
        """The continuation of the longest match, at most `budget.max_tokens` and 32 tokens."""
        self._proposed = []
        limit = min(budget.max_tokens, self._max_draft)
        match = self._index.longest_match() if limit > 0 else None
        if match is None:
            return Draft()
        self._proposed, confidences = self._continue(match, limit)
        tokens = self._proposed
        if budget.keep_going is not None:
            for i, confidence in enumerate(confidences):
                if not budget.keep_going(i + 1, confidence):
                    tokens, confidences = tokens[: i + 1], confidences[: i + 1]
                    break
        return Draft.chain(tokens, confidences=confidences, source=self.name)

    def accept(self, outcome: Outcome) -> None:
        """Take in what was committed, and learn whether the last proposal was right: used or not."""
        self.observe(outcome.tokens)

    def close(self) -> None:
        """Nothing to free."""

    def _learn(self, committed: Sequence[int]) -> None:
        for proposed, actual, cell in zip(self._proposed, committed, self._cells, strict=False):
            self._record.learn(cell, proposed == actual)
            if proposed != actual:
                break
        self._proposed = []

    def _continue(self, match: Match, limit: int) -> tuple[list[int], list[float]]:
        """What followed the occurrences of a match, by vote, with the chance of each token.

        Ends where a token is hardly ever reached: two matching tokens are no reason for a draft of 32.
        """
        followers = [self._follow(end, limit) for end in match.ends]
        first = followers[0]
        success = self._record.success
        first_cells = self._record.first_cell[match.length :]
        tokens: list[int] = []
        confidences: list[float] = []
        self._cells = cells = []
        chance = 1.0
        kind = _ONCE
        agreed = len(followers) == 1
        for place in range(limit):
            if not agreed:
                agreed = followers.count(first) == len(followers)
                kind = _AGREED
                if not agreed:
                    followers, kind = _vote(followers, place)
                    first = followers[0]
            cell = first_cells[place] + kind
            confidence = success[cell]
            chance *= confidence
            tokens.append(first[place])
            cells.append(cell)
            confidences.append(confidence)
            if chance < _WORTHLESS:
                break
        return tokens, confidences

    def _follow(self, end: int, limit: int) -> list[int]:
        """The `limit` tokens after position `end`; a match that runs into the text's end repeats itself."""
        text = self._index.tokens
        if end + limit <= len(text):
            return text[end : end + limit]
        return list(islice(cycle(text[end:]), limit))


def _vote(followers: list[list[int]], place: int) -> tuple[list[list[int]], int]:
    """The followers that have the most frequent token at `place`, and the kind of evidence."""
    votes = [follower[place] for follower in followers]
    winner = max(votes, key=votes.count)  # `max` keeps the first, which is the most recent.
    agreeing = [follower for follower, vote in zip(followers, votes, strict=True) if vote == winner]
    return agreeing, _AGREED if len(agreeing) == len(followers) else _SPLIT


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens two sequences share from the start."""
    size = min(len(left), len(right))
    if list(left[:size]) == list(right[:size]):
        return size
    return next(i for i in range(size) if left[i] != right[i])
