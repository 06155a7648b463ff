"""Sessions and prompts over the real model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from specdec_cli.draft.catalog import DrafterParts, drafter_kind
from specdec_cli.engine.generation import Generation
from specdec_cli.engine.session import Session
from specdec_cli.engine.template import ChatTemplate
from specdec_cli.hardware.threads import default_threads
from specdec_cli.llama.model import LlamaModel
from specdec_cli.sampling.random_source import RandomSource
from specdec_cli.sampling.sampler import Sampler
from specdec_cli.settings import ContextSettings, GenerationSettings, SamplingSettings

PROMPTS = (
    "Write a haiku about rivers.",
    "Explain what a prime number is.",
    "Write a Python function that reverses a string.",
    "List five fruits, one per line.",
    "Translate to French: The cat sleeps on the table.",
    'Give a JSON object with the fields "name" and "age" for Ada, 36.',
    "Repeat this three times: the quick brown fox jumps over the lazy dog.",
    "What is the capital of Japan, and why is it famous?",
    "Tell a short story about a robot who learns to paint. 🤖",
    "한국어로 인사해 주세요.",
)
TIE_GAP = 0.05
"""Two target logits closer than this are a tie: their order may depend on the shape of the batch."""


def settings(n_ctx: int = 1024, n_batch: int = 512) -> ContextSettings:
    return ContextSettings(n_ctx=n_ctx, n_batch=n_batch, threads=default_threads())


def chat_tokens(model: LlamaModel, prompt: str) -> list[int]:
    source = model.chat_template
    assert source is not None
    bos, eos = model.template_tokens
    rendered = ChatTemplate(source, bos, eos).render([{"role": "user", "content": prompt}])
    return model.text.tokenize(rendered, add_special=False, parse_special=True)


def session(
    target: LlamaModel,
    drafter: str = "none",
    draft: LlamaModel | None = None,
    *,
    draft_max: int = 4,
    sampling: SamplingSettings | None = None,
    rule: Literal["match", "reject"] = "match",
    context: ContextSettings | None = None,
    grammar: str | None = None,
) -> Session:
    context = context or settings()
    sampling = sampling or SamplingSettings()
    sampler, random = Sampler(sampling, target.text.n_vocab), RandomSource(sampling.seed)
    draft_context = draft.new_context(context, 1) if draft is not None else None
    constraint = target.new_constraint(grammar) if grammar is not None else None
    parts = DrafterParts(
        target.text.n_vocab,
        sampler,
        random,
        rule,
        draft_context,
        grammar_text=target.text if grammar is not None else None,
    )
    target_context = target.new_context(context, draft_max + 1)
    built = drafter_kind(drafter).build(parts)
    return Session(target_context, built, sampler, random, rule, grammar=constraint)


def answer(
    session: Session, model: LlamaModel, prompt: Sequence[int], max_tokens: int, draft_max: int = 4
) -> Generation:
    generation = Generation(session, model.text, GenerationSettings(max_tokens), draft_max)
    generation.prefill(prompt)
    for _event in generation:
        session.check()
    return generation


def assert_same_or_tie(
    model: LlamaModel, prompt: Sequence[int], plain: Sequence[int], drafted: Sequence[int]
) -> None:
    """The same tokens; or the first difference is between two logits that are a tie."""
    if list(plain) == list(drafted):
        return
    limit = min(len(plain), len(drafted))
    first = next((index for index in range(limit) if plain[index] != drafted[index]), limit)
    context = model.new_context(settings(), 1)
    try:
        row = context.decode([*prompt, *plain[:first]], 1)[0]
        best = np.sort(row)[-2:]
    finally:
        context.close()
    gap = float(best[1] - best[0])
    assert gap < TIE_GAP, f"first difference at token {first}; the top two logits are {gap:.3f} apart"
