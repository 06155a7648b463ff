from __future__ import annotations

import pytest

from specdec_cli.draft.policy import PolicyDrafter
from tests.support.simulator import World, best_fixed, model_script, play_policy
from tests.support.worlds import CPU, DRAFT_CPU, GPU, GPU_DRAFT, worlds

WORLDS = worlds()
HOPELESS = [world for world in WORLDS if best_fixed(world, 1000)[0] == "none"]


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_regret_against_the_best_fixed_choice_stays_below_five_percent(world: World) -> None:
    """Over 1 000 rounds, in seconds without measuring noise; fixed seeds, so it holds always or never."""
    played, _ = play_policy(world, PolicyDrafter, 1000)
    kind, length, seconds = best_fixed(world, played.tokens)
    assert 1 - seconds / played.seconds < 0.05, f"best was {kind} at {length}"
    plain_seconds = played.tokens * world.target(1)
    assert plain_seconds / played.seconds >= 0.97


@pytest.mark.parametrize("world", HOPELESS, ids=lambda world: world.name)
def test_plain_against_auto_in_a_short_run_where_nothing_pays(world: World) -> None:
    played, _ = play_policy(world, PolicyDrafter, 250)
    assert played.tokens * world.target(1) / played.seconds >= 0.97


@pytest.mark.parametrize("machine", ["F32", "F16", "GPU"])
def test_predictable_text_is_noticed_after_a_long_pause(machine: str) -> None:
    target, draft = (GPU, GPU_DRAFT) if machine == "GPU" else (CPU[machine], DRAFT_CPU)
    world = World("change", target, draft, model_script([0.15] * 600 + [0.93] * 9000, 5), seed=5)
    hopeless, _ = play_policy(world, PolicyDrafter, 500)
    drafted_after = []

    class Watched(PolicyDrafter):
        position = 0

        def accept(self, outcome):  # type: ignore[no-untyped-def]
            super().accept(outcome)
            self.position += len(outcome.tokens)
            if self.position > 600 and len(outcome.draft) > 2:
                drafted_after.append(self.position)

    play_policy(world, Watched, 1000)
    assert hopeless.tokens * target(1) / hopeless.seconds >= 0.97
    assert drafted_after[9] < 600 + 450


def test_a_draft_length_bound_is_never_exceeded() -> None:
    """`play_policy` asserts it of every draft."""
    world = World("short", GPU, GPU_DRAFT, model_script([0.95] * 2000, 1), seed=1)
    for draft_max in (0, 1, 3):
        played, policy = play_policy(world, PolicyDrafter, 100, draft_max)
        assert played.tokens <= 100 * (draft_max + 1)
        assert (policy.summary().state == "off") == (draft_max == 0)  # type: ignore[attr-defined]
