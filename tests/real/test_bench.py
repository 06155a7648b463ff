"""A small bench of the real pair: every variant says what plain decoding says, and the profile is a curve."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdec_cli.bench.rig import Rig
from specdec_cli.bench.service import BenchPlan, run_bench
from specdec_cli.bench.values import Placement
from specdec_cli.bench.variants import make_variants, parse_drafters
from specdec_cli.llama.backend import LlamaBackend
from tests.support.real import settings

pytestmark = pytest.mark.real


def test_variants_share_models_and_answers(demo_files: dict[str, Path], tmp_path: Path) -> None:
    placement = Placement(demo_files["Q8_0"], demo_files["Q4_0"], settings(), settings())
    variants = make_variants(parse_drafters("model:3,ngram:4,auto"), placement)
    rig = Rig(LlamaBackend(), 16, profiles=tmp_path)
    try:
        report = run_bench(rig, BenchPlan(variants, ("json",), 1, 24), {})
    finally:
        rig.close()
    assert report.lossless
    assert [cell.variant for cell in report.cells] == ["plain", "model:3", "ngram:4", "auto"]
    model = report.cell("json", "model:3")
    assert model is not None
    assert (model.acceptance_rate or 0) > 0.3
    assert model.target_share + model.draft_share > 0.9
    assert report.profile is not None
    curve = report.profile["target_seconds"]
    assert "1" in curve  # how many more there are is a matter of how fast the machine is
    assert min(curve.values()) > 0
    assert report.foresight["json"].speedup >= 1.0
