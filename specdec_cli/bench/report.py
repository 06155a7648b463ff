"""From samples to figures: one cell per task and variant, and what they come to over all tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from specdec_cli.bench.foresight import Foresight
from specdec_cli.bench.statistics import Estimate, paired_ratio, pooled_ratio
from specdec_cli.bench.values import Sample
from specdec_cli.bench.variants import PLAIN_LABEL


@dataclass(frozen=True)
class Cell:
    """One variant at one task."""

    task: str
    variant: str
    runs: int
    tokens_per_second: float
    """Median of the runs."""
    speedup: Estimate | None
    """Over plain decoding of the same prompts; None for plain decoding itself."""
    ratios: tuple[float, ...]
    """What `speedup` is made of: tokens per second over plain decoding's, pair by pair."""
    drafted: int
    accepted: int
    tokens: int
    rounds: int
    target_share: float
    draft_share: float
    same: int
    """Pairs whose answers were token for token the same."""
    ties: int
    """Pairs that went apart where two tokens were equally likely up to rounding."""
    different: int

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted ÷ drafted; None where nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def mean_tokens_per_round(self) -> float:
        """Committed tokens per decode of the target."""
        return self.tokens / self.rounds if self.rounds else 0.0

    @property
    def other_share(self) -> float:
        """Of the time, what was spent outside native calls."""
        return max(0.0, 1.0 - self.target_share - self.draft_share)

    @property
    def lossless(self) -> bool:
        """Whether every answer was plain decoding's, ties aside."""
        return self.different == 0


@dataclass(frozen=True)
class BenchReport:
    """All that a bench has to say. `about` is what was run and on what, ready for JSON."""

    about: Mapping[str, Any]
    tasks: tuple[str, ...]
    variants: tuple[str, ...]
    """Plain decoding first."""
    cells: tuple[Cell, ...]
    overall: Mapping[str, Estimate]
    """Per variant beside plain: the geometric mean over tasks."""
    samples: tuple[Sample, ...] = ()
    profile: Mapping[str, Any] | None = None
    """What rows cost here (`CostProfile.to_json`), where it was measured."""
    foresight: Mapping[str, Foresight] = field(default_factory=dict)
    """Per task, the bound with perfect foresight, where it could be computed."""
    interrupted: bool = False

    def cell(self, task: str, variant: str) -> Cell | None:
        """A cell; None where nothing was measured of it."""
        return next((cell for cell in self.cells if (cell.task, cell.variant) == (task, variant)), None)

    @property
    def lossless(self) -> bool:
        """Whether all answers were plain decoding's, ties aside."""
        return all(cell.lossless for cell in self.cells)


def make_report(
    samples: Sequence[Sample],
    variants: Sequence[str],
    about: Mapping[str, Any],
    *,
    profile: Mapping[str, Any] | None = None,
    foresight: Mapping[str, Foresight] | None = None,
    interrupted: bool = False,
) -> BenchReport:
    """Put samples into cells. Tasks come in the order in which they were measured first."""
    tasks = tuple(dict.fromkeys(sample.task for sample in samples))
    plain = {sample.block: sample for sample in samples if sample.variant == PLAIN_LABEL}
    cells = []
    for task in tasks:
        for variant in variants:
            chosen = [sample for sample in samples if (sample.task, sample.variant) == (task, variant)]
            if chosen:
                cells.append(_cell(task, variant, chosen, plain))
    overall = {
        variant: pooled_ratio(groups)
        for variant in variants
        if (groups := [cell.ratios for cell in cells if cell.variant == variant and cell.ratios])
    }
    return BenchReport(
        about=about,
        tasks=tasks,
        variants=tuple(variants),
        cells=tuple(cells),
        overall=overall,
        samples=tuple(samples),
        profile=profile,
        foresight=foresight or {},
        interrupted=interrupted,
    )


def _cell(task: str, variant: str, samples: Sequence[Sample], plain: Mapping[int, Sample]) -> Cell:
    ratios = tuple(_ratios(samples, plain)) if variant != PLAIN_LABEL else ()
    seconds = sum(sample.seconds for sample in samples)
    agreements = [sample.agreement for sample in samples]
    rounds = [record for sample in samples for record in sample.rounds]
    return Cell(
        task=task,
        variant=variant,
        runs=len(samples),
        tokens_per_second=median(sample.tokens_per_second for sample in samples),
        speedup=paired_ratio(ratios) if ratios else None,
        ratios=ratios,
        drafted=sum(record.drafted for record in rounds),
        accepted=sum(record.accepted for record in rounds),
        tokens=sum(record.tokens for record in rounds),
        rounds=len(rounds),
        target_share=sum(sample.target_seconds for sample in samples) / seconds if seconds else 0.0,
        draft_share=sum(sample.draft_seconds for sample in samples) / seconds if seconds else 0.0,
        same=agreements.count("same"),
        ties=agreements.count("tie"),
        different=agreements.count("different"),
    )


def _ratios(samples: Iterable[Sample], plain: Mapping[int, Sample]) -> Iterable[float]:
    """Speed over plain decoding's of the same block; answers too short to have a speed are left out."""
    for sample in samples:
        before = plain[sample.block].tokens_per_second
        if before > 0 and sample.tokens_per_second > 0:
            yield sample.tokens_per_second / before
