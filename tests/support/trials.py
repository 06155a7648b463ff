"""What is put on trial in tests of `specdec_cli.proof`: toy engines, and judges that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from specdec_cli.assemble import EngineRequest, assemble
from specdec_cli.draft.values import Draft
from specdec_cli.engine.engine import Engine
from specdec_cli.proof.prompts import Prompt
from specdec_cli.proof.subject import Subject
from specdec_cli.protocols import Logits
from specdec_cli.sampling.constraint import Constraint
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import ContextSettings, DraftSettings, SamplingSettings
from specdec_cli.verify.walk import Judge, Rule, Verdict, judge
from tests.support.toy import ToyBackend, ToyContext, ToyModel, table_logits

SETTINGS = ContextSettings(n_ctx=256)
PROMPTS = (
    Prompt("chat", "hello there"),
    Prompt("list", "abc"),
    Prompt("chat", "what a day"),
    Prompt("copy", "once upon a time there was a boat on a lake"),
)
WORDS = table_logits(7, end_bias=-3.0)


def toy_subject(
    folder: Path,
    *,
    backend: ToyBackend | None = None,
    drafter: str = "model",
    draft_max: int = 4,
    judged_by: Judge = judge,
    interrupted: Callable[[], bool] = lambda: False,
) -> Subject:
    target, draft = folder / "target.gguf", folder / "draft.gguf"
    target.touch()
    draft.touch()
    engine = toy_engine(backend or ToyBackend(target_logits=WORDS), target, draft, drafter, draft_max)
    engine.session.judge = judged_by
    return Subject(engine, SETTINGS, SETTINGS, interrupted)


def toy_engine(backend: ToyBackend, target: Path, draft: Path, drafter: str, draft_max: int) -> Engine:
    return assemble(
        backend,
        EngineRequest(
            target=target,
            draft=draft if drafter == "model" else None,
            target_settings=SETTINGS,
            draft_settings=SETTINGS,
            drafting=DraftSettings(drafter=drafter, draft_max=draft_max),
            sampling=SamplingSettings(),
        ),
    )


def one_too_many(
    rows: Logits,
    draft: Draft,
    sampler: Sampler,
    history: Sequence[int],
    random: RandomSource,
    rule: Rule,
    constraint: Constraint | None = None,
) -> Verdict:
    """Accepts the first token that the right judge rejects, and goes on from there."""
    right = judge(rows, draft, sampler, history, random, rule, constraint)
    wrong = len(right.path)
    if wrong == len(draft):
        return right
    accepted = draft.tokens[: wrong + 1]
    own = sampler.choose(rows[wrong + 1], [*history, *accepted], random, constraint)
    return Verdict(tuple(range(wrong + 1)), (*accepted, own))


def never_the_residual(
    rows: Logits,
    draft: Draft,
    sampler: Sampler,
    history: Sequence[int],
    random: RandomSource,
    rule: Rule,
    constraint: Constraint | None = None,
) -> Verdict:
    """Draws from the whole target after a rejection: the mistake that *reject* is most often made with."""
    right = judge(rows, draft, sampler, history, random, rule, constraint)
    if rule == "match" or len(right.path) == len(draft):
        return right
    text = [*history, *right.tokens[:-1]]
    own = sampler.choose(rows[len(right.path)], text, random, constraint)
    return Verdict(right.path, (*right.tokens[:-1], own))


@dataclass
class SpoiledBackend(ToyBackend):
    """A toy backend, each of whose contexts is spoiled as it is made."""

    spoil: Callable[[ToyContext], None] = lambda _context: None

    def load(
        self, path: Path, settings: ContextSettings, progress: Callable[[float], bool] | None = None
    ) -> ToyModel:
        model = super().load(path, settings, progress)
        make = model.new_context

        def making(settings: ContextSettings, max_rows: int) -> ToyContext:
            context = make(settings, max_rows)
            self.spoil(context)
            return context

        model.new_context = making  # type: ignore[method-assign]
        return model


def shaking(size: float) -> Callable[[ToyContext], None]:
    """Logits shift by up to `size` when several rows are decoded at once: what other batch shapes do."""

    def spoil(context: ToyContext) -> None:
        decode = context.decode

        def decoding(tokens: Sequence[int], rows: int) -> Logits:
            result = decode(tokens, rows)
            if rows < 2:
                return result
            shift = np.random.default_rng(context.length).uniform(-size, size, result.shape)
            return (result + shift).astype(np.float32)

        context.decode = decoding  # type: ignore[method-assign]

    return spoil


def remembering(context: ToyContext) -> None:
    """Dropped tokens leave a trace: every one shifts the logits of all that follow."""
    decode, cut = context.decode, context.cut
    dropped = 0

    def decoding(tokens: Sequence[int], rows: int) -> Logits:
        result = decode(tokens, rows)
        result[:, 1] += 0.01 * dropped
        return result

    def cutting(length: int) -> bool:
        nonlocal dropped
        dropped = 0 if length == 0 else dropped + max(0, context.length - length)
        return cut(length)

    context.decode, context.cut = decoding, cutting  # type: ignore[method-assign]
