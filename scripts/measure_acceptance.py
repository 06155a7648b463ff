"""How many drafted tokens *reject* and *match* accept on the same prompts: paired, with an interval of the difference.

    python scripts/measure_acceptance.py --target F16.gguf --draft Q4_0.gguf

Prompts are the first of `specdec verify`'s (all kinds but the long copies). Each prompt is answered with the same seeds
under both rules, one after the other.
"""

from __future__ import annotations

import argparse
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

from specdec_cli.assemble import EngineRequest, assemble
from specdec_cli.bench.statistics import student_quantile
from specdec_cli.engine.engine import Engine
from specdec_cli.engine.statistics import Statistics
from specdec_cli.engine.template import prompt_tokens
from specdec_cli.hardware.threads import default_threads
from specdec_cli.llama.backend import LlamaBackend
from specdec_cli.proof.prompts import BUILT_IN
from specdec_cli.settings import (
    AcceptRule,
    ContextSettings,
    DraftSettings,
    GenerationSettings,
    SamplingSettings,
)

RULES: tuple[AcceptRule, ...] = ("match", "reject")


def main() -> None:
    """Print a line for each prompt, then both means and the paired difference."""
    options = parse()
    context = ContextSettings(n_ctx=1024, threads=default_threads())
    drafting = DraftSettings(drafter="model", draft_max=options.draft_max)
    request = EngineRequest(options.target, options.draft, context, context, drafting, sampling(options, 0))
    engine = assemble(LlamaBackend(), request)
    rates: dict[AcceptRule, list[float]] = {rule: [] for rule in RULES}
    total: dict[AcceptRule, list[int]] = {rule: [0, 0, 0, 0] for rule in RULES}
    for number, prompt in enumerate(BUILT_IN[: options.prompts], start=1):
        tokens = prompt_tokens(engine.target, prompt.text)
        for rule in RULES:
            counts = [0, 0, 0, 0]
            for seed in range(options.seeds):
                statistics = answer(engine, tokens, rule, sampling(options, seed), options.tokens)
                for place, value in enumerate(
                    (statistics.accepted, statistics.drafted, statistics.tokens, statistics.rounds)
                ):
                    counts[place] += value
            rates[rule].append(counts[0] / counts[1])
            total[rule] = [before + now for before, now in zip(total[rule], counts, strict=True)]
        match, reject = (rates[rule][-1] for rule in RULES)
        print(f"{number:3} {prompt.kind:12} match {match:.3f}  reject {reject:.3f}", flush=True)
    engine.close()
    for rule in RULES:
        accepted, drafted, written, rounds = total[rule]
        print(
            f"{rule:7} mean of prompts {fmean(rates[rule]):.3f}, all {accepted}/{drafted} = {accepted / drafted:.3f}, "
            f"{written / rounds:.2f} tokens a round"
        )
    differences = [reject - match for match, reject in zip(rates["match"], rates["reject"], strict=True)]
    half = student_quantile(0.975, len(differences) - 1) * stdev(differences) / sqrt(len(differences))
    print(f"reject - match: {fmean(differences):+.3f} ± {half:.3f} (95 %, {len(differences)} pairs)")


def answer(
    engine: Engine, tokens: list[int], rule: AcceptRule, sampling: SamplingSettings, max_tokens: int
) -> Statistics:
    """One answer's counts."""
    engine.use_sampling(sampling)
    engine.use_draft_settings(accept=rule)
    generation = engine.generate(GenerationSettings(max_tokens))
    generation.prefill(tokens)
    for _event in generation:
        pass
    return generation.statistics


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
    parser.add_argument("--seeds", type=int, default=1, help="answers to each prompt under each rule")
    parser.add_argument("--prompts", type=int, default=20)
    return parser.parse_args()


if __name__ == "__main__":
    main()
