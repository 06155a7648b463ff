"""The best settings of a pair on this machine, one question after another, each a small paired bench.

Threads are asked of plain decoding, the rest of drafting: which draft, which drafter and length, how many threads
and which cache for the draft. A setting replaces the one in use if it is probably faster: its whole 80 % interval
lies above 1. At the end the winner meets the defaults on many prompts that no question has seen, since whoever
chooses the best of many measurements chooses some of their luck too; what counts then is the 95 % interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from specdec_cli.bench.measure import Progressing, measure, warm_up
from specdec_cli.bench.rig import Rig
from specdec_cli.bench.schedule import make_blocks
from specdec_cli.bench.statistics import Estimate, pooled_ratio
from specdec_cli.bench.tasks import most_runs
from specdec_cli.bench.values import Sample, Variant
from specdec_cli.bench.variants import PLAIN_LABEL
from specdec_cli.draft.catalog import DRAFTERS, PLAIN, drafter_kind
from specdec_cli.settings import ContextSettings, KvType

_PROBABLY = 0.8


@dataclass(frozen=True)
class TuneSpace:
    """What may be tried. An empty tuple leaves a question out: the user has answered it, or there is one answer."""

    threads: tuple[int, ...] = ()
    drafts: Mapping[str, Path] = field(default_factory=dict)
    """Other drafts for this target: files by the reference that names them."""
    lengths: tuple[int, ...] = ()
    draft_threads: tuple[int, ...] = ()
    draft_kv_types: tuple[KvType, ...] = ()
    kv_types: tuple[KvType, ...] = ()
    """Of the target's cache: they change its answers, so only on request."""


@dataclass(frozen=True)
class TuneAmounts:
    """How much each question measures."""

    tasks: tuple[str, ...]
    runs: int
    """Prompts per task; of these there are `most_questions_ask`."""
    max_tokens: int

    @property
    def most_questions_ask(self) -> int:
        """The first half of the prompts is for the questions, the second for the confirmation."""
        return most_runs(self.tasks) // 2


@dataclass(frozen=True)
class Answer:
    """One candidate against the setting in use."""

    label: str
    ratio: Estimate


@dataclass(frozen=True)
class Question:
    """One round of the tournament."""

    name: str
    in_use: str
    answers: tuple[Answer, ...]
    chosen: str
    """`in_use`, unless a candidate was probably faster."""


@dataclass(frozen=True)
class TuneResult:
    """The settings found, and what they gain on fresh prompts."""

    defaults: Variant
    best: Variant
    questions: tuple[Question, ...]
    over_defaults: Estimate
    over_plain: Estimate

    @property
    def is_better(self) -> bool:
        """Whether the winner is surely faster than the defaults."""
        return self.best != self.defaults and self.over_defaults.surely_above_one


@dataclass
class Tournament:
    """Asks the questions. Raises `KeyboardInterrupt` when stopped: half an answer is none."""

    rig: Rig
    amounts: TuneAmounts
    interrupted: Callable[[], bool] = lambda: False
    progress: Progressing = lambda _what, _fraction: None
    _questions: list[Question] = field(default_factory=list)

    def run(self, defaults: Variant, space: TuneSpace) -> TuneResult:
        """From the defaults to the best."""
        best = self._threads(defaults, space)
        best = self._ask("draft", best, _with_drafts(best, space))
        best = self._ask("drafter and length", best, _with_drafters(best, space))
        if drafter_kind(best.drafter).uses_draft_model and best.placement.draft is not None:
            settings = best.placement.draft_settings
            counts = {
                f"{count} draft threads": replace(settings, threads=count) for count in space.draft_threads
            }
            best = self._ask("draft threads", best, _with_draft_settings(best, counts))
            settings = best.placement.draft_settings
            kinds = {f"draft {kind}": replace(settings, kv_type=kind) for kind in space.draft_kv_types}
            best = self._ask("draft KV cache", best, _with_draft_settings(best, kinds))
        best = self._ask("KV cache", best, _with_kv_types(best, space))
        return self._confirmed(defaults, best)

    def _confirmed(self, defaults: Variant, best: Variant) -> TuneResult:
        """Plain decoding, the defaults and the winner on prompts that decided nothing."""
        variants = [
            replace(defaults, label=PLAIN_LABEL, drafter=PLAIN, draft_max=1),
            replace(defaults, label="defaults"),
        ]
        if best != defaults:
            variants.append(replace(best, label="winner"))
        first = self.amounts.most_questions_ask
        runs = most_runs(self.amounts.tasks) - first
        samples = self._measured("confirming", variants, first, runs)
        winner = variants[-1].label
        return TuneResult(
            defaults,
            best,
            tuple(self._questions),
            over_defaults=pooled_ratio(ratios_by_task(samples, "defaults", winner)),
            over_plain=pooled_ratio(ratios_by_task(samples, PLAIN_LABEL, winner)),
        )

    def _threads(self, defaults: Variant, space: TuneSpace) -> Variant:
        """Both models' threads, as plain decoding likes them."""
        alone = replace(defaults.placement, draft=None)
        usual = alone.target_settings
        plain = Variant(f"{usual.threads} threads", PLAIN, 1, alone)
        candidates = [
            Variant(
                f"{count} threads",
                PLAIN,
                1,
                replace(alone, target_settings=replace(usual, threads=count)),
            )
            for count in space.threads
            if count != usual.threads
        ]
        threads = self._ask("threads", plain, candidates).placement.target_settings.threads
        settings = defaults.placement
        if threads == settings.target_settings.threads:
            return defaults
        placement = replace(settings, target_settings=replace(settings.target_settings, threads=threads))
        if settings.draft_settings.threads == settings.target_settings.threads:
            placement = replace(placement, draft_settings=replace(settings.draft_settings, threads=threads))
        return replace(defaults, placement=placement)

    def _ask(self, name: str, in_use: Variant, candidates: Sequence[Variant]) -> Variant:
        """The fastest candidate, if it is probably faster than what is in use."""
        if not candidates:
            return in_use
        runs, most = self.amounts.runs, self.amounts.most_questions_ask
        first = len(self._questions) * runs % (most - runs + 1)
        samples = self._measured(name, [in_use, *candidates], first, runs)
        ratios = {
            variant.label: pooled_ratio(ratios_by_task(samples, in_use.label, variant.label), _PROBABLY)
            for variant in candidates
        }
        faster = [variant for variant in candidates if ratios[variant.label].surely_above_one]
        chosen = max(faster, key=lambda variant: ratios[variant.label].value, default=in_use)
        answers = tuple(Answer(label, ratio) for label, ratio in ratios.items())
        self._questions.append(Question(name, in_use.label, answers, chosen.label))
        return chosen

    def _measured(
        self, name: str, variants: Sequence[Variant], first_prompt: int, runs: int
    ) -> tuple[Sample, ...]:
        self.progress(f"{name}: warming up", None)
        warm_up(self.rig, variants, self.amounts.max_tokens, self.interrupted)
        blocks = make_blocks(self.amounts.tasks, runs, len(variants), first_prompt)
        measured = measure(
            self.rig,
            variants,
            blocks,
            self.amounts.max_tokens,
            self.interrupted,
            lambda what, fraction: self.progress(f"{name}: {what}", fraction),
        )
        if measured.interrupted:
            raise KeyboardInterrupt
        return measured.samples


def ratios_by_task(samples: Sequence[Sample], reference: str, variant: str) -> list[list[float]]:
    """Per task, the variant's speed over the reference's, block by block."""
    before = {sample.block: sample for sample in samples if sample.variant == reference}
    tasks: dict[str, list[float]] = {}
    for sample in samples:
        if sample.variant == variant:
            ratio = sample.tokens_per_second / before[sample.block].tokens_per_second
            tasks.setdefault(sample.task, []).append(ratio)
    return list(tasks.values())


def _with_drafts(best: Variant, space: TuneSpace) -> list[Variant]:
    return [
        replace(best, label=reference, placement=replace(best.placement, draft=path))
        for reference, path in space.drafts.items()
        if path != best.placement.draft
    ]


def _with_drafters(best: Variant, space: TuneSpace) -> list[Variant]:
    """Plain decoding and every drafter, those with a fixed length at each of the lengths."""
    if not space.lengths:
        return []
    has_draft = best.placement.draft is not None
    variants = []
    for name, kind in DRAFTERS.items():
        if kind.needs.own_context and not has_draft:
            continue
        fixed = kind.speculates and not kind.welcomes_draft_model
        lengths = space.lengths if fixed else (min(kind.draft_max, max(space.lengths)),)
        variants += [
            Variant(f"{name}:{length}" if fixed else name, name, length, best.placement) for length in lengths
        ]
    return [v for v in variants if (v.drafter, v.draft_max) != (best.drafter, best.draft_max)]


def _with_draft_settings(best: Variant, changes: Mapping[str, ContextSettings]) -> list[Variant]:
    """The same with other settings of the draft's context, by label."""
    return [
        replace(best, label=label, placement=replace(best.placement, draft_settings=settings))
        for label, settings in changes.items()
        if settings != best.placement.draft_settings
    ]


def _with_kv_types(best: Variant, space: TuneSpace) -> list[Variant]:
    settings = best.placement.target_settings
    return [
        replace(
            best,
            label=f"target {kind}",
            placement=replace(best.placement, target_settings=replace(settings, kv_type=kind)),
        )
        for kind in space.kv_types
        if kind != settings.kv_type
    ]
