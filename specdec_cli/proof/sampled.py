"""Sampling: the first tokens of many answers, plain decoding's sample against the drafted one.

This part is about chance: drafter, sampler and judge are the real ones, and so are the logits, but what was decoded
once is remembered, so that thousands of answers cost little more than their differing beginnings. (Caches that are
cut and filled again are on trial in the other parts.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specdec_cli.proof.report import SampledReport, ShareDifference
from specdec_cli.proof.subject import Subject
from specdec_cli.proof.two_sample import ENDED, RARE, Beginnings, Cell, compare
from specdec_cli.settings import AcceptRule, SamplingSettings

FIRST_TOKENS = 3
"""Enough for a draft to be accepted, rejected and followed by another; few, so that many answers begin alike."""


def prove_sampled(
    subject: Subject,
    tokens: Sequence[Sequence[int]],
    chosen: Sequence[int],
    samples: int,
    accept: AcceptRule,
    seed: int,
    progress: Callable[[float], None],
) -> SampledReport:
    """Compare `samples` answers of each kind to each of the prompts at the indices `chosen`, at temperature 1.

    No seed serves in both samples: under *match* they would not be independent. Leaves the engine sampling.
    """
    engine = subject.engine
    engine.use_sampling(SamplingSettings(temperature=1.0, seed=seed))
    engine.use_draft_settings(accept=accept)
    pairs: list[tuple[Beginnings, Beginnings]] = []
    drafted, accepted = 0, 0
    for number, index in enumerate(chosen):
        plain: list[tuple[int, ...]] = []
        found: list[tuple[int, ...]] = []
        with subject.remembering():
            for run in range(samples):
                first_seed = seed + 2 * (number * samples + run)
                engine.use_sampling(SamplingSettings(temperature=1.0, seed=first_seed))
                plain.append(subject.plain(tokens[index], FIRST_TOKENS).tokens)
                engine.use_sampling(SamplingSettings(temperature=1.0, seed=first_seed + 1))
                answer = subject.drafted(tokens[index], FIRST_TOKENS)
                found.append(answer.tokens)
                drafted, accepted = drafted + answer.drafted, accepted + answer.accepted
                progress((number + (run + 1) / samples) / len(chosen))
        pairs.append((plain, found))
    comparison = compare(pairs, FIRST_TOKENS, seed)
    return SampledReport(
        rule=engine.session.rule,
        prompts=len(pairs),
        samples=samples,
        first_tokens=FIRST_TOKENS,
        drafted=drafted,
        accepted=accepted,
        p_value=comparison.p_value,
        largest=_shown(subject, comparison.largest, chosen),
    )


def _shown(subject: Subject, cell: Cell | None, chosen: Sequence[int]) -> ShareDifference | None:
    if cell is None or cell.token == ENDED:
        return None
    return ShareDifference(
        prompt=chosen[cell.prompt] + 1,
        position=cell.position + 1,
        token=None if cell.token == RARE else subject.show(cell.token),
        plain_share=cell.first_share,
        drafted_share=cell.second_share,
    )
