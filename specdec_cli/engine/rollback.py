"""Can a context drop rejected tokens? Recurrent and hybrid models cannot; asked before the first token."""

from __future__ import annotations

from specdec_cli.errors import EngineFault
from specdec_cli.protocols import ModelContext


def can_roll_back(context: ModelContext, token: int) -> bool:
    """Whether positions can be cut off the end again. Decodes two tokens and leaves the context empty."""
    if context.length:
        raise EngineFault("the rollback probe needs an empty context")
    if context.n_ctx < 2:
        return False
    context.decode([token, token], 0)
    able = context.cut(1)
    if not context.cut(0):
        raise EngineFault("a context cannot be emptied")
    return able
