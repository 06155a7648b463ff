"""`specdec verify` on the real model: it finds nothing where there is nothing, and a wrong judge where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from specdec_cli.assemble import EngineRequest, assemble
from specdec_cli.llama.backend import LlamaBackend
from specdec_cli.proof.prompts import BUILT_IN
from specdec_cli.proof.prove import ProofPlan, prove
from specdec_cli.proof.subject import Subject
from specdec_cli.settings import DraftSettings, SamplingSettings
from tests.support.real import settings
from tests.support.trials import one_too_many

pytestmark = pytest.mark.real
PROMPTS = [BUILT_IN[index] for index in (1, 5, 8)]


@pytest.fixture(scope="module")
def subject(demo_files: dict[str, Path]) -> Iterator[Subject]:
    context = replace(settings(n_ctx=256), threads=1)
    drafting = DraftSettings(drafter="model", draft_max=3)
    request = EngineRequest(
        demo_files["F16"], demo_files["Q4_0"], context, context, drafting, SamplingSettings()
    )
    engine = assemble(LlamaBackend(), request)
    yield Subject(engine, context, context)
    engine.close()


def test_the_demo_pair_is_lossless_but_for_ties(subject: Subject) -> None:
    report = prove(subject, PROMPTS, ProofPlan(max_tokens=6, samples=20))
    assert report.verdict in ("identical", "tie")
    assert report.greedy.drafted > 10
    assert report.tie_threshold < 0.5
    assert report.sampled is not None
    assert report.sampled.rule == "reject"
    assert report.rollback.largest.change <= 1e-3
    assert {case.rejected for case in report.rollback.cases if case.model == "draft"} == {1, 2, 3}


def test_one_token_too_many_is_caught(subject: Subject) -> None:
    subject.engine.session.judge = one_too_many
    report = prove(subject, PROMPTS[:3], ProofPlan(max_tokens=24, samples=0))  # long enough for a rejection
    assert report.greedy.verdict == "different"
    assert max(difference.gap for difference in report.differences) > report.tie_threshold
