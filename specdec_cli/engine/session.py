"""The session: owner of the committed tokens, the target's cache and the drafter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from specdec_cli.draft.values import Draft, Drafter
from specdec_cli.errors import EngineFault, SpecdecError
from specdec_cli.protocols import Constraint, ModelContext
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.verify.walk import Judge, judge

_PREFILL_CHUNK = 512


class Session:
    """One text under construction, and the two models that write it.

    Invariant between rounds: `target.length == len(committed) - 1`.
    """

    no_draft = Draft()

    def __init__(
        self,
        target: ModelContext,
        drafter: Drafter,
        sampler: Sampler,
        random: RandomSource,
        rule: Literal["match", "reject"],
        judge: Judge = judge,
        grammar: Constraint | None = None,
    ) -> None:
        self.target = target
        self.drafter = drafter
        self.sampler = sampler
        self.random = random
        self.rule = rule
        self.judge = judge
        self.committed: list[int] = []
        self.grammar = grammar
        """The initial state of the grammar that answers must satisfy; a change counts from the next `start` on."""
        self.constraint: Constraint | None = None
        """Its state after the answer so far."""

    def start(self, tokens: Sequence[int], interrupted: Callable[[], bool] = lambda: False) -> int:
        """Make `tokens` the committed text, decoding only what follows the common prefix with the text so far.

        Returns how many tokens the target had to decode. Raises `SpecdecError` when the prompt leaves no room
        for output, and `KeyboardInterrupt` between chunks when `interrupted` says so; the caches are then
        consistent and shorter.
        """
        if not tokens:
            raise SpecdecError("the prompt is empty", hint="give some text")
        if len(tokens) >= self.target.n_ctx:
            raise SpecdecError(
                f"the prompt takes {len(tokens)} tokens and leaves no room in the context of {self.target.n_ctx}",
                hint="raise --ctx, or shorten the prompt",
                code="context.prompt_too_long",
            )
        self.constraint = self.grammar.fork() if self.grammar is not None else None
        wanted = len(tokens) - 1
        common = _common_prefix(self.committed, tokens)
        keep = min(common, wanted, self.target.length)
        if not self.target.cut(keep) and not self.target.cut(0):
            raise EngineFault("the target's cache cannot be emptied")
        self.committed = list(tokens[: self.target.length + 1])
        decoded = wanted - self.target.length
        while self.target.length < wanted:
            if interrupted():
                raise KeyboardInterrupt
            chunk = tokens[self.target.length : min(self.target.length + _PREFILL_CHUNK, wanted)]
            self.target.decode(chunk, 0)
            self.committed = list(tokens[: self.target.length + 1])
        self.drafter.begin(tokens)
        self.check()
        return decoded

    def commit(self, tokens: Sequence[int]) -> None:
        """Take `tokens` into the text, and the grammar along; the target's cache holds more than that, or less."""
        self.committed.extend(tokens)
        if self.constraint is not None:
            for token in tokens:
                self.constraint.accept(token)
        if not self.target.cut(len(self.committed) - 1):
            raise SpecdecError("the target cannot drop rejected tokens", code="arch.no_rollback")

    def settle(self) -> None:
        """After a round that may have been broken off: drop what was decoded but not committed.

        A memory that cannot do that forgets everything: the next `start` then decodes its whole prompt.
        """
        if self.committed and not self.target.cut(len(self.committed) - 1):
            self.target.cut(0)
            self.committed = []
        self.check()

    def check(self) -> None:
        """Raise `EngineFault` unless the cache and the committed tokens agree."""
        if self.target.length != max(0, len(self.committed) - 1):
            raise EngineFault(
                f"the target holds {self.target.length} positions for {len(self.committed)} committed tokens"
            )

    def close(self) -> None:
        """Free the drafter, then the target's context. A grammar's state is of no use without the vocabulary."""
        self.grammar = self.constraint = None
        self.drafter.close()
        self.target.close()


def _common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """How many leading tokens two texts share."""
    limit = min(len(first), len(second))
    return next((index for index in range(limit) if first[index] != second[index]), limit)
