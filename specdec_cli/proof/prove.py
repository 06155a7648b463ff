"""All parts in order, on one engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from specdec_cli.engine.template import prompt_tokens
from specdec_cli.proof.greedy import prove_greedy
from specdec_cli.proof.prompts import Prompt, one_of_each_kind
from specdec_cli.proof.report import ProofReport
from specdec_cli.proof.rollback import prove_rollback
from specdec_cli.proof.same_seed import prove_same_seed
from specdec_cli.proof.sampled import prove_sampled
from specdec_cli.proof.subject import Subject
from specdec_cli.proof.ties import Noise
from specdec_cli.settings import AcceptRule, SamplingSettings

_SEEDED_PROMPTS = 6
_SEEDS_EACH = 2
_SEEDED_TOKENS = 24
_SAMPLED_PROMPTS = 8

Progress = Callable[[str, float], None]
"""Hears what is being proved, and how much of that part is done, 0 … 1."""


@dataclass(frozen=True)
class ProofPlan:
    """How much is asked."""

    max_tokens: int = 48
    """Of each greedy answer."""
    samples: int = 200
    """Answers to each sampled prompt in each of the two samples; 0 leaves the two-sample test out."""
    seed: int = 0
    """From which all seeds follow: the same seed asks the same questions again."""
    accept: AcceptRule = "auto"
    """The rule that the two-sample test puts on trial."""


def prove(
    subject: Subject,
    prompts: Sequence[Prompt],
    plan: ProofPlan,
    progress: Progress = lambda _what, _done: None,
    clock: Callable[[], float] = perf_counter,
) -> ProofReport:
    """Run every part. Raises `SpecdecError` for a prompt that does not fit and when nothing was drafted, and
    `KeyboardInterrupt` when the user has asked to stop."""
    begun = clock()
    engine, noise = subject.engine, Noise(subject)
    tokens = [prompt_tokens(engine.target, prompt.text) for prompt in prompts]
    varied = one_of_each_kind(prompts, _SEEDED_PROMPTS)
    engine.use_sampling(SamplingSettings(temperature=0.0, seed=plan.seed))
    greedy = prove_greedy(
        subject,
        noise,
        prompts,
        tokens,
        plan.max_tokens,
        varied,
        lambda done: progress("greedy answers", done),
    )
    same_seed = prove_same_seed(
        subject,
        noise,
        prompts,
        tokens,
        varied,
        range(plan.seed, plan.seed + _SEEDS_EACH),
        min(_SEEDED_TOKENS, plan.max_tokens),
        lambda done: progress("the same seed", done),
    )
    sampled = None
    if plan.samples:
        sampled = prove_sampled(
            subject,
            tokens,
            one_of_each_kind(prompts, _SAMPLED_PROMPTS),
            plan.samples,
            plan.accept,
            plan.seed,
            lambda done: progress(f"first tokens of {plan.samples} answers", done),
        )
    rollback = prove_rollback(subject, tokens, lambda done: progress("rollback", done))
    return ProofReport(
        drafter=subject.drafter,
        draft_max=engine.drafting.draft_max,
        noise=noise.largest,
        tie_threshold=noise.threshold,
        # What was measured later counts for what was found earlier too.
        greedy=replace(greedy, differences=tuple(map(noise.judged, greedy.differences))),
        same_seed=replace(same_seed, differences=tuple(map(noise.judged, same_seed.differences))),
        sampled=sampled,
        rollback=rollback,
        seconds=clock() - begun,
    )
