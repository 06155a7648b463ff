"""The rollback probe."""

from __future__ import annotations

import pytest

from specdec_cli.engine.rollback import can_roll_back
from specdec_cli.errors import EngineFault
from tests.support.toy import ToyContext, table_logits


def test_the_probe_tells_and_leaves_nothing_behind() -> None:
    for able in (True, False):
        context = ToyContext(table_logits(1), rolls_back=able)
        assert can_roll_back(context, 3) is able
        assert context.length == 0


def test_a_used_context_is_not_probed() -> None:
    context = ToyContext(table_logits(1), tokens=[1])
    with pytest.raises(EngineFault):
        can_roll_back(context, 3)
