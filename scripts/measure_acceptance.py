"""How many drafted tokens *reject* and *match* accept on the same prompts: paired, with an interval of the difference.

    python scripts/measure_acceptance.py --target F16.gguf --draft Q4_0.gguf

Prompts are the first of `specdec verify`'s (all kinds but the long copies). Two measurements:

expected  the text is plain decoding's; at each of its positions, the chance that a drafted token is kept there. With
          target p and draft q: *reject* keeps it with the sum of min(p, q); under *match* both race with the same
          noise, and agree with the sum over i of 1 / sum over j of max(p_j / p_i, q_j / q_i). No chance is left in it.
answered  each prompt answered under both rules with the same seeds; accepted over drafted tokens. The answers differ,
          so the interval is wide.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

import numpy as np

from specdec_cli.assemble import EngineRequest, assemble
from specdec_cli.bench.statistics import student_quantile
from specdec_cli.engine.engine import Engine
from specdec_cli.engine.template import prompt_tokens
from specdec_cli.hardware.threads import default_threads
from specdec_cli.llama.backend import LlamaBackend
from specdec_cli.proof.prompts import BUILT_IN
from specdec_cli.sampling.distribution import Distribution, TokenIds
from specdec_cli.settings import (
    AcceptRule,
    ContextSettings,
    DraftSettings,
    GenerationSettings,
    SamplingSettings,
)

RULES: tuple[AcceptRule, ...] = ("match", "reject")


def main() -> None:
    """Print a line for each prompt, then the means and the paired differences."""
    options = parse()
    context = ContextSettings(n_ctx=1024, threads=options.threads)
    drafting = DraftSettings(drafter="model", draft_max=options.draft_max)
    request = EngineRequest(options.target, options.draft, context, context, drafting, sampling(options, 0))
    engine = assemble(LlamaBackend(), request)
    expected: list[tuple[float, float]] = []
    answered: list[tuple[float, float]] = []
    for number, prompt in enumerate(BUILT_IN[: options.prompts], start=1):
        tokens = prompt_tokens(engine.target, prompt.text)
        line = f"{number:3} {prompt.kind:12}"
        expected.append(expected_acceptance(engine, tokens, options))
        line += "expected: match {:.3f} reject {:.3f}".format(*expected[-1])
        if options.seeds:
            answered.append(answered_acceptance(engine, tokens, options))
            line += "   answered: match {:.3f} reject {:.3f}".format(*answered[-1])
        print(line, flush=True)
    engine.close()
    sum_up("expected", expected)
    if answered:
        sum_up("answered", answered)


def sum_up(name: str, rates: Sequence[tuple[float, float]]) -> None:
    """Both means over the prompts, and the mean of the differences with its 95 % interval."""
    differences = [reject - match for match, reject in rates]
    half = student_quantile(0.975, len(rates) - 1) * stdev(differences) / sqrt(len(rates))
    match, reject = (fmean(each) for each in zip(*rates, strict=True))
    not_less = sum(difference >= 0 for difference in differences)
    print(
        f"{name}: match {match:.4f}, reject {reject:.4f}; reject - match {fmean(differences):+.4f} ± {half:.4f} "
        f"({not_less} of {len(rates)} prompts not less)"
    )


def expected_acceptance(
    engine: Engine, prompt: list[int], options: argparse.Namespace
) -> tuple[float, float]:
    """Under *match* and under *reject*: the mean over the positions of a plain answer."""
    engine.use_sampling(sampling(options, 0))
    engine.use_drafter("none")
    generation = engine.generate(GenerationSettings(options.tokens))
    generation.prefill(prompt)
    for _event in generation:
        pass
    text = list(engine.session.committed)
    engine.use_drafter("model", fresh=True)
    draft = engine.parts.draft_context
    assert draft is not None
    target = engine.session.target
    engine.session.start(prompt)
    draft.cut(0)
    draft.decode(prompt[:-1], 0)
    kept = []
    for place in range(len(prompt) - 1, len(text) - 1):
        history = text[: place + 1]
        p, q = (
            engine.session.sampler.distribution(context.decode([text[place]], 1)[0], history)
            for context in (target, draft)
        )
        kept.append(chances(p, q))
    engine.session.settle()
    engine.use_drafter("model", fresh=True)
    match, reject = (fmean(each) for each in zip(*kept, strict=True))
    return match, reject


def chances(target: Distribution, draft: Distribution) -> tuple[float, float]:
    """That a draft token is kept: under *match*, under *reject*."""
    tokens = np.union1d(candidates(target), candidates(draft))
    p, q = (distribution.probabilities_of(tokens, len(tokens)) for distribution in (target, draft))
    both = (p > 0) & (q > 0)
    ratios = np.maximum(p[np.newaxis] / p[both, np.newaxis], q[np.newaxis] / q[both, np.newaxis])
    return float(np.sum(1 / ratios.sum(axis=1))), float(np.minimum(p, q).sum())


def candidates(distribution: Distribution) -> TokenIds:
    """The tokens it gives a chance."""
    if distribution.tokens is None:
        return np.flatnonzero(distribution.probabilities)
    return distribution.tokens


def answered_acceptance(
    engine: Engine, prompt: list[int], options: argparse.Namespace
) -> tuple[float, float]:
    """Under *match* and under *reject*: accepted over drafted tokens of answers with the same seeds."""
    rates = []
    for rule in RULES:
        accepted, drafted = 0, 0
        for seed in range(options.seeds):
            engine.use_sampling(sampling(options, seed))
            engine.use_draft_settings(accept=rule)
            generation = engine.generate(GenerationSettings(options.tokens))
            generation.prefill(prompt)
            for _event in generation:
                pass
            accepted += generation.statistics.accepted
            drafted += generation.statistics.drafted
        rates.append(accepted / drafted)
    return rates[0], rates[1]


def sampling(options: argparse.Namespace, seed: int) -> SamplingSettings:
    """The defaults at the temperature asked for; with --pure nothing but the temperature."""
    if options.pure:
        return SamplingSettings(temperature=options.temperature, top_k=0, top_p=1.0, min_p=0.0, seed=seed)
    return SamplingSettings(temperature=options.temperature, seed=seed)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path, required=True)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--pure", action="store_true", help="no top-k, top-p, min-p")
    parser.add_argument("--draft-max", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument(
        "--seeds", type=int, default=1, help="answers to each prompt under each rule; 0: none"
    )
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--prompts", type=int, default=20)
    return parser.parse_args()


if __name__ == "__main__":
    main()
