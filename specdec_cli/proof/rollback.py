"""Rollback: after rejected tokens were dropped, the next logits are those of a context that never saw them.

What stays in the cache is decoded in the same batches in both contexts, and rejected tokens in batches of their own:
so nothing that is compared was computed in another shape, and what is left is the effect of the rollback alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal

from specdec_cli.proof.report import RollbackCase, RollbackReport
from specdec_cli.proof.subject import Subject
from specdec_cli.proof.ties import largest_change
from specdec_cli.protocols import ModelContext
from specdec_cli.sampling.candidates import LogitRow


def prove_rollback(
    subject: Subject, tokens: Sequence[Sequence[int]], progress: Callable[[float], None]
) -> RollbackReport:
    """In the engine's own contexts: 1 … `draft_max` tokens rejected after the shortest prompt, and `draft_max` after
    the longest, where a sliding window has moved on. Empties both caches, before and after."""
    engine = subject.engine
    shortest, longest = min(tokens, key=len), max(tokens, key=len)
    most = engine.drafting.draft_max
    trials: list[tuple[Sequence[int], Sequence[int]]] = [(shortest, range(1, most + 1))]
    if len(longest) > len(shortest):
        trials.append((longest, [most]))
    # Ordinary tokens, in an order that no text has.
    rejected = (list(reversed(longest)) * most)[:most]
    subject.forget()
    cases = list(_tried("target", engine.session.target, subject.fresh_target, trials, rejected))
    progress(0.5)
    draft_context = engine.parts.draft_context
    if draft_context is not None:
        cases += _tried("draft", draft_context, subject.fresh_draft, trials, rejected)
    subject.forget()
    progress(1.0)
    return RollbackReport(tuple(cases))


def _tried(
    model: Literal["target", "draft"],
    used: ModelContext,
    fresh: Callable[[], AbstractContextManager[ModelContext]],
    trials: Sequence[tuple[Sequence[int], Sequence[int]]],
    rejected: Sequence[int],
) -> Iterator[RollbackCase]:
    """A case for each number of rejected tokens that the context has room for."""
    for prompt, counts in trials:
        *kept, following = prompt
        fitting = [count for count in counts if len(prompt) + count <= used.n_ctx]
        if not fitting:
            continue
        with fresh() as untouched:
            _read(untouched, kept)
            expected = _next_row(untouched, following)
        used.cut(0)
        _read(used, kept)
        for count in fitting:
            _decode_as_drafted(used, rejected[:count])
            change = float("inf")
            if used.cut(len(kept)):
                change = largest_change(expected, _next_row(used, following))
            yield RollbackCase(model, len(kept), count, change)
            used.cut(len(kept))


def _read(context: ModelContext, tokens: Sequence[int]) -> None:
    if tokens:
        context.decode(tokens, 0)


def _next_row(context: ModelContext, token: int) -> LogitRow:
    row: LogitRow = context.decode((token,), 1)[0].copy()
    return row


def _decode_as_drafted(context: ModelContext, tokens: Sequence[int]) -> None:
    """All at once as the target judges them, or one by one as a draft model draws them."""
    size = len(tokens) if context.max_rows >= len(tokens) else 1
    for start in range(0, len(tokens), size):
        context.decode(tokens[start : start + size], size)
