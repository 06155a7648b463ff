"""Under *match* a seed stands for one answer: plain decoding's, drafted or not, today or again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specdec_cli.proof.prompts import Prompt
from specdec_cli.proof.report import Difference, SameSeedReport
from specdec_cli.proof.subject import Subject
from specdec_cli.proof.ties import Noise, describe
from specdec_cli.settings import SamplingSettings


def prove_same_seed(
    subject: Subject,
    noise: Noise,
    prompts: Sequence[Prompt],
    tokens: Sequence[Sequence[int]],
    chosen: Sequence[int],
    seeds: Sequence[int],
    max_tokens: int,
    progress: Callable[[float], None],
) -> SameSeedReport:
    """Answers at temperature 1 to the prompts at the indices `chosen`, once with each seed.

    Plain, then drafted twice; both drafted answers are held against the plain one. Leaves the engine judging by
    *match*.
    """
    engine = subject.engine
    engine.use_draft_settings(accept="match")
    differences: list[Difference] = []
    answered, answers = 0, len(chosen) * len(seeds)
    plain_tokens = 0
    for index in chosen:
        for seed in seeds:
            engine.use_sampling(SamplingSettings(temperature=1.0, seed=seed))
            plain = subject.plain(tokens[index], max_tokens).tokens
            found = {subject.drafted(tokens[index], max_tokens).tokens for _again in range(2)}
            for drafted in sorted(found - {plain}):
                difference = describe(
                    subject,
                    noise,
                    number=index + 1,
                    kind=prompts[index].kind,
                    prompt=tokens[index],
                    expected=plain,
                    found=drafted,
                    seed=seed,
                )
                differences += [difference] if difference is not None else []
            plain_tokens += len(plain)
            answered += 1
            progress(answered / answers)
    return SameSeedReport(answers=answers, tokens=plain_tokens, differences=tuple(differences))
