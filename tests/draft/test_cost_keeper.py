"""A cost profile is measured once, unless what was stored cannot be true."""

from __future__ import annotations

from pathlib import Path

from specdec_cli.draft.cost_keeper import CostKeeper, is_plausible
from specdec_cli.draft.costs import CostProfile, RowCurve
from specdec_cli.draft.profile_store import ProfileStore
from tests.support.toy import ToyContext, table_logits


def contexts() -> tuple[ToyContext, ToyContext]:
    target = ToyContext(table_logits(1), decode_seconds=1e-3)
    return target, ToyContext(table_logits(2), decode_seconds=1e-4)


def keeper(folder: Path, said: list[str]) -> CostKeeper:
    return CostKeeper(ProfileStore(folder), {"pair": "toy"}, 17, lambda: said.append("measuring"))


def test_a_profile_is_measured_once(tmp_path: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        profile = keeper(tmp_path, said).profile(*contexts())
        assert profile.draft is not None
        assert profile.draft.seconds(1) < profile.target.seconds(1)
    assert said == ["measuring"]


def test_a_draft_dearer_than_its_target_is_measured_again(tmp_path: Path) -> None:
    said: list[str] = []
    absurd = CostProfile(RowCurve({1: 1e-3, 2: 2.7e-3}), RowCurve({1: 4e-3}))
    assert not is_plausible(absurd)
    keeper(tmp_path, said).keep(absurd)
    profile = keeper(tmp_path, said).profile(*contexts())
    assert said == ["measuring"]
    assert is_plausible(profile)


def test_without_a_draft_everything_is_plausible() -> None:
    assert is_plausible(CostProfile(RowCurve({1: 1e-3}), None))
