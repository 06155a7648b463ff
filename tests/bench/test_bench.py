"""A whole bench on the toy backend: its clock moves only inside decodes, so every figure can be worked out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from specdec_cli.bench.document import bench_document
from specdec_cli.bench.measure import measure, warm_up
from specdec_cli.bench.profile import draft_steps, measure_profile, pays_from, profile_rows
from specdec_cli.bench.report import BenchReport, make_report
from specdec_cli.bench.rig import Rig
from specdec_cli.bench.schedule import make_blocks
from specdec_cli.bench.service import BenchPlan, run_bench
from specdec_cli.bench.tasks import prompts_of
from specdec_cli.bench.values import Placement, Variant
from specdec_cli.bench.variants import make_variants, parse_drafters
from specdec_cli.errors import SpecdecError
from specdec_cli.protocols import Logits
from specdec_cli.settings import ContextSettings
from tests.support.timed import TimedBackend, TimedContext
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import table_logits

WORDS = table_logits(7, end_bias=-9.0)
STEP = 0.011
"""What one token costs in the target; 0.001 for each more. The draft takes 0.001 per token."""


@dataclass
class Bench:
    backend: TimedBackend
    rig: Rig
    placement: Placement
    progress: list[str] = field(default_factory=list)

    def variants(self, drafters: str) -> tuple[Variant, ...]:
        return make_variants(parse_drafters(drafters), self.placement)

    def run(
        self, drafters: str, tasks: Sequence[str] = ("chat",), runs: int = 2, tokens: int = 24
    ) -> BenchReport:
        plan = BenchPlan(self.variants(drafters), tuple(tasks), runs, tokens)
        return run_bench(
            self.rig,
            plan,
            {},
            progress=lambda what, _fraction: self.progress.append(what),
            clock=self.backend.clock,
        )


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    backend = TimedBackend(target_logits=WORDS)
    yield (made := make_bench(tmp_path, backend))
    made.rig.close()
    assert all(model.closed for model in backend.models)


def make_bench(folder: Path, backend: TimedBackend, *, draft: bool = True) -> Bench:
    placement = Placement(
        write_tiny_model(folder / "target.gguf"),
        write_tiny_model(folder / "draft.gguf") if draft else None,
        ContextSettings(),
        ContextSettings(),
    )
    rig = Rig(backend, 16, profiles=folder / "profiles", clock=backend.clock)
    return Bench(backend, rig, placement)


def drafts_of(report: BenchReport) -> list[list[tuple[int, int]]]:
    return [[(record.drafted, record.accepted) for record in sample.rounds] for sample in report.samples]


def test_speed_and_shares_are_those_of_the_rounds(bench: Bench) -> None:
    report = bench.run("model:4", runs=4, tokens=64)
    plain, drafted = report.cell("chat", "plain"), report.cell("chat", "model:4")
    assert plain is not None
    assert drafted is not None
    assert plain.tokens_per_second == pytest.approx(1 / STEP)
    assert (plain.speedup, plain.acceptance_rate, plain.mean_tokens_per_round) == (None, None, 1.0)
    assert (plain.target_share, plain.draft_share, plain.other_share) == pytest.approx((1.0, 0.0, 0.0))
    assert drafted.speedup is not None
    samples = [sample for sample in report.samples if sample.variant == "model:4"]
    for sample, ratio in zip(samples, drafted.ratios, strict=True):
        expected = sum(0.010 + 0.001 * record.rows for record in sample.rounds)
        assert sample.target_seconds == pytest.approx(expected)
        assert ratio == pytest.approx(len(sample.tokens) * STEP / sample.seconds)
        assert len(sample.tokens) == 64
    assert drafted.speedup.surely_above_one
    assert drafted.target_share + drafted.draft_share == pytest.approx(1.0)
    accepted = sum(record.accepted for sample in samples for record in sample.rounds)
    offered = sum(record.drafted for sample in samples for record in sample.rounds)
    assert drafted.acceptance_rate == accepted / offered
    assert drafted.mean_tokens_per_round == 256 / sum(len(sample.rounds) for sample in samples)
    assert report.overall["model:4"].value == pytest.approx(drafted.speedup.value)


def test_all_answers_are_plain_decodings(bench: Bench) -> None:
    report = bench.run("model:1,model:5,ngram,auto", tasks=("chat", "creative"))
    assert report.lossless
    for cell in report.cells:
        if cell.speedup is not None:
            assert (cell.same, cell.ties, cell.different) == (2, 0, 0)
    assert bench_document(report)["lossless"] is True


def test_every_block_answers_one_prompt_in_turning_order(bench: Bench) -> None:
    bench.run("model:2,ngram", tasks=("chat", "creative"), runs=1)
    played = [what for what in bench.progress if "·" in what]
    assert played == [
        *("chat · plain", "chat · model:2", "chat · ngram"),
        *("creative · model:2", "creative · ngram", "creative · plain"),
    ]


def test_every_run_has_a_fresh_prompt_and_a_fresh_drafter(bench: Bench) -> None:
    report = bench.run("ngram", runs=3)
    assert [s.prompt for s in report.samples] == [0, 0, 1, 1, 2, 2]
    again = bench.run("ngram", runs=3)
    assert drafts_of(report) == drafts_of(again)


def test_each_file_is_loaded_once_and_a_prompt_is_read_once_per_block(bench: Bench) -> None:
    report = bench.run("model:2,ngram", runs=1)
    assert [model.path.name for model in bench.backend.models] == ["target.gguf", "draft.gguf"]
    assert all(len(model.contexts) == 1 for model in bench.backend.models)
    (first, *others) = sorted(report.samples, key=lambda sample: -sample.prompt_seconds)
    assert first.prompt_seconds > 0.1
    assert all(
        other.prompt_seconds < 0.3 * first.prompt_seconds + 0.5 * STEP
        for other in others
        if other.variant != "model:2"
    )


def test_the_warm_up_is_in_no_figure(bench: Bench) -> None:
    variants = bench.variants("model:2")
    speeds = warm_up(bench.rig, variants, 24)
    assert speeds[0] == pytest.approx(1 / STEP)
    measured = measure(bench.rig, variants, make_blocks(("chat",), 1, 2), 24)
    assert len(measured.samples) == 2


def test_a_bench_that_is_stopped_reports_its_complete_blocks(bench: Bench) -> None:
    blocks = make_blocks(("chat",), 3, 2)
    stop = iter([False] * 60 + [True] * 1000)
    measured = measure(bench.rig, bench.variants("model:2"), blocks, 24, lambda: next(stop))
    assert measured.interrupted
    assert {sample.block for sample in measured.samples} == {0}
    report = make_report(measured.samples, ["plain", "model:2"], {}, interrupted=True)
    assert [cell.runs for cell in report.cells] == [1, 1]
    plan = BenchPlan(bench.variants("model:2"), ("chat",), 1, 24)
    with pytest.raises(KeyboardInterrupt):
        run_bench(bench.rig, plan, {}, interrupted=lambda: True)


class TornContext(TimedContext):
    """A target that says something else when it decodes several rows."""

    def decode(self, tokens: Sequence[int], rows: int) -> Logits:
        logits = super().decode(tokens, rows)
        return logits[:, ::-1].copy() if rows > 1 else logits


def test_an_answer_that_differs_is_found(tmp_path: Path) -> None:
    backend = TimedBackend(target_logits=WORDS, target_context=TornContext)
    bench = make_bench(tmp_path, backend)
    report = bench.run("model:2", tasks=("json",), runs=2)
    bench.rig.close()
    cell = report.cell("json", "model:2")
    assert cell is not None
    assert cell.different == 2
    assert not report.lossless
    assert not cell.lossless


def test_the_bound_is_above_what_any_drafter_reached(bench: Bench) -> None:
    report = bench.run("model:1,model:8,ngram:8,auto", tasks=("chat", "creative"))
    assert set(report.foresight) == {"chat", "creative"}
    for task, bound in report.foresight.items():
        assert bound.tokens == 48
        reached = [cell.speedup.value for cell in report.cells if cell.task == task and cell.speedup]
        assert bound.speedup >= max(reached) - 1e-6


def test_without_fixed_drafters_there_is_no_bound(bench: Bench) -> None:
    assert bench.run("auto", runs=1).foresight == {}


def test_a_policys_own_estimate_is_near_what_was_measured(bench: Bench) -> None:
    report = bench.run("auto", runs=3, tokens=96)
    cell = report.cell("chat", "auto")
    assert cell is not None
    assert cell.speedup is not None
    assert cell.speedup.value > 1.1
    gains = [sample.estimated_gain for sample in report.samples if sample.variant == "auto"]
    for gain, ratio in zip(gains, cell.ratios, strict=True):
        assert gain == pytest.approx(ratio, rel=0.1)


def test_a_pair_without_a_draft_compares_what_needs_none(tmp_path: Path) -> None:
    backend = TimedBackend(target_logits=WORDS)
    bench = make_bench(tmp_path, backend, draft=False)
    report = bench.run("ngram,auto", runs=1)
    bench.rig.close()
    assert [model.path.name for model in backend.models] == ["target.gguf"]
    assert report.lossless


def test_a_target_that_cannot_speculate_is_refused(tmp_path: Path) -> None:
    backend = TimedBackend(target_logits=WORDS, target_options={"rolls_back": False})
    bench = make_bench(tmp_path, backend)
    with pytest.raises(SpecdecError, match="cannot speculate"):
        bench.run("model")
    bench.rig.close()
    assert all(model.closed for model in backend.models)


def test_the_profile_is_what_decodes_cost_at_the_depth_of_the_text(bench: Bench) -> None:
    prompt = prompts_of("chat")[0]
    profile = measure_profile(bench.rig, bench.placement, prompt, bench.backend.clock)
    assert profile.depth == len(prompt) - 1
    rows = {row.rows: row for row in profile_rows(profile)}
    assert rows[1].seconds == pytest.approx(STEP)
    assert rows[8].seconds == pytest.approx(0.018)
    assert rows[8].relative == pytest.approx(18 / 11)
    assert rows[1].model_pays_from is None
    # Nine tokens at most for 0.016 + 7 · 0.001: 1 + p + … + p⁷ = 25 / 11.
    chance = rows[8].model_pays_from
    assert chance is not None
    assert sum(chance**power for power in range(8)) == pytest.approx(25 / 11)
    assert rows[8].copy_pays_from is not None
    assert rows[8].copy_pays_from < chance
    assert draft_steps(profile)[0] == (1, pytest.approx(0.001))
    assert bench.run("model:2", runs=1).lossless


def test_no_acceptance_is_high_enough_for_a_draft_that_costs_more_than_it_brings() -> None:
    assert pays_from(5.1, 4) is None
    assert pays_from(5.0, 4) == pytest.approx(1.0)
    assert pays_from(1.5, 1) == pytest.approx(0.5)
    assert pays_from(1.0, 0) is None
