"""Sampling: the first tokens of many answers, plain decoding's sample against the drafted one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from specdec_cli.proof.report import SampledReport, ShareDifference
from specdec_cli.proof.subject import Subject
from specdec_cli.proof.two_sample import ENDED, RARE, Beginnings, Cell, compare
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.settings import AcceptRule, SamplingSettings

FIRST_TOKENS = 4
"""Enough for a draft to be accepted, rejected and followed by another; few, so that many answers are cheap."""


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
        seeds = range(seed + 2 * number * samples, seed + 2 * (number + 1) * samples)
        plain = plain_beginnings(subject, tokens[index], seeds[::2], FIRST_TOKENS)
        found: list[tuple[int, ...]] = []
        for run, other_seed in enumerate(seeds[1::2]):
            engine.use_sampling(SamplingSettings(temperature=1.0, seed=other_seed))
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


def plain_beginnings(
    subject: Subject, prompt: Sequence[int], seeds: Sequence[int], length: int
) -> list[tuple[int, ...]]:
    """The first tokens of plain decoding's answers with these seeds, in no order of theirs.

    Plain decoding meets the same row after the same text whatever the seed, so a text that several answers share
    is decoded once.
    """
    session, text = subject.engine.session, subject.engine.target.text
    subject.start(prompt)
    begun: list[tuple[int, ...]] = []

    def grow(so_far: list[int], group: Sequence[int]) -> None:
        session.target.cut(len(so_far) - 1)
        row = session.target.decode((so_far[-1],), 1)[0]
        by_token: dict[int, list[int]] = defaultdict(list)
        for seed in group:
            by_token[session.sampler.choose(row, so_far, RandomSource(seed))].append(seed)
        for token, those in by_token.items():
            longer = [*so_far, token]
            if len(longer) == len(prompt) + length or text.is_end_of_generation(token):
                begun.extend([tuple(longer[len(prompt) :])] * len(those))
            else:
                grow(longer, those)

    grow(list(prompt), seeds)
    session.settle()
    return begun


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
