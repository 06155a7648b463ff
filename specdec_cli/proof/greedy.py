"""Greedy: every prompt answered plainly and with drafts, compared token by token."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specdec_cli.errors import SpecdecError
from specdec_cli.proof.prompts import Prompt
from specdec_cli.proof.report import GreedyReport
from specdec_cli.proof.subject import Answer, Subject
from specdec_cli.proof.ties import Noise, describe


def prove_greedy(
    subject: Subject,
    noise: Noise,
    prompts: Sequence[Prompt],
    tokens: Sequence[Sequence[int]],
    max_tokens: int,
    measured: Sequence[int],
    progress: Callable[[float], None],
) -> GreedyReport:
    """Compare the answers to all prompts. `tokens`: each prompt as token ids.

    `measured`: indices of the prompts at which the noise is measured before anything is called a tie.
    Raises `SpecdecError` when nothing was drafted at all.
    """
    pairs: list[tuple[Answer, Answer]] = []
    for index, prompt in enumerate(tokens):
        plain = subject.plain(prompt, max_tokens)
        if index in measured:
            noise.measure(prompt, plain.tokens)
        pairs.append((plain, subject.drafted(prompt, max_tokens)))
        progress((index + 1) / len(tokens))
    drafted = sum(answer.drafted for _plain, answer in pairs)
    if not drafted:
        raise SpecdecError(
            f"drafter {subject.drafter} drafted nothing in {len(pairs)} answers: nothing was proved",
            hint="raise -n, or use another drafter",
            code="hardware.draft_unused",
        )
    described = (
        describe(
            subject,
            noise,
            number=index + 1,
            kind=prompts[index].kind,
            prompt=tokens[index],
            expected=plain.tokens,
            found=answer.tokens,
        )
        for index, (plain, answer) in enumerate(pairs)
    )
    return GreedyReport(
        prompts=len(pairs),
        tokens=sum(len(plain.tokens) for plain, _answer in pairs),
        drafted=drafted,
        accepted=sum(answer.accepted for _plain, answer in pairs),
        differences=tuple(difference for difference in described if difference is not None),
    )
