"""One round of speculative decoding: propose → evaluate → judge → commit → tell.

After every round the target's cache holds exactly the committed tokens but the last one, which opens the next
batch (the pending token).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specdec_cli.draft.values import Budget, Outcome
from specdec_cli.engine.session import Session
from specdec_cli.errors import EngineFault
from specdec_cli.verify.prune import prune

Keep = Callable[[Sequence[int], int], int]
"""Given the round's new tokens and how many of them were drafted: how many of them the answer keeps."""


def play_round(session: Session, budget: Budget, keep: Keep) -> Outcome:
    """Commit one run of tokens to the session and return what happened."""
    target, drafter, committed = session.target, session.drafter, session.committed
    native_before = target.seconds, drafter.seconds

    draft = drafter.propose(budget) if budget.max_tokens > 0 else session.no_draft
    if len(draft) > max(budget.max_tokens, 0):
        raise EngineFault(f"drafter {drafter.name} proposed {len(draft)} tokens, {budget.max_tokens} allowed")

    if session.constraint is not None:
        draft = prune(draft, session.constraint)

    rows = target.decode((committed[-1], *draft.tokens), rows=1 + len(draft))

    verdict = session.judge(
        rows, draft, session.sampler, committed, session.random, session.rule, session.constraint
    )
    kept = keep(verdict.tokens, len(verdict.path))
    tokens = verdict.tokens[:kept]

    session.commit(tokens)

    outcome = Outcome(
        draft=draft,
        path=verdict.path[:kept],
        tokens=tokens,
        target_seconds=target.seconds - native_before[0],
        draft_seconds=drafter.seconds - native_before[1],
    )
    drafter.accept(outcome)
    return outcome
