"""The bars of `specdec run`, measured on this machine with the demo model; prints markdown for docs/log.md.

    python scripts/measure_run.py [--runs 5] [--tokens 256]

Everything is paired and interleaved: a ratio is taken within one run of the loop, and its median is quoted.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from specdec_cli.assemble import EngineRequest, assemble
from specdec_cli.engine.engine import Engine
from specdec_cli.engine.generation import Generation
from specdec_cli.engine.template import prompt_tokens
from specdec_cli.hardware.threads import default_threads
from specdec_cli.llama.backend import LlamaBackend
from specdec_cli.registry.catalog import load_catalog
from specdec_cli.registry.resolve import make_ready, resolve_model
from specdec_cli.settings import ContextSettings, DraftSettings, GenerationSettings, SamplingSettings

STORY = "Write a long story about a lighthouse keeper and the sea."
CODE = "Write a Python class for a binary search tree with insert, delete, find and in-order traversal."
EDIT = (
    "Repeat this text exactly, but write 'lake' instead of 'sea': The sea was calm. The old keeper looked at the sea "
    "from the lighthouse. Every day the sea brought him letters, and every night the sea sang. He had lived by the "
    "sea for forty years, and the sea had never lied to him. When the storm came, the sea rose, and the keeper lit "
    "the lamp."
)
CONTEXT = ContextSettings(n_ctx=2048, threads=default_threads())


def never_ending(engine: Engine) -> SamplingSettings:
    """Greedy, with the tokens that would end the answer banned, so that every run has the same length."""
    text = engine.target.text
    ends = [token for token in range(text.n_vocab) if text.is_end_of_generation(token)]
    return SamplingSettings(logit_bias=tuple((token, -1000.0) for token in ends))


def engine(target: Path, draft: Path | None, drafter: str, draft_max: int) -> Engine:
    """One engine, its answers as long as asked."""
    drafting = DraftSettings(drafter=drafter, draft_max=draft_max)
    request = EngineRequest(target, draft, CONTEXT, CONTEXT, drafting, SamplingSettings())
    made = assemble(LlamaBackend(), request)
    made.use_sampling(never_ending(made))
    return made


def answer(engine: Engine, prompt: str, tokens: int) -> Generation:
    """One whole answer."""
    engine.session.target.cut(0)
    engine.session.committed = []
    generation = engine.generate(GenerationSettings(tokens))
    generation.prefill(prompt_tokens(engine.target, prompt, None, raw=False))
    for _event in generation:
        pass
    return generation


def speed(generation: Generation) -> float:
    """Tokens per second of the generation, the prompt not counted."""
    return len(generation.token_ids) / generation.seconds


def other_share(generation: Generation) -> float:
    """Share of the time outside native calls."""
    counted = generation.statistics
    return 1 - (counted.target_seconds + counted.draft_seconds) / generation.seconds


def measure_overhead(files: dict[str, Path], runs: int, tokens: int) -> None:
    """Time outside native calls, plain and drafted."""
    print("\n| target | drafter | time outside native calls, median (worst) |\n|---|---|---|")
    for quant in ("F16", "Q4_1"):
        for drafter, length in (("none", 1), ("model", 4), ("ngram", 8), ("auto", 16)):
            draft = files["Q4_0"] if drafter in ("model", "auto") else None
            made = engine(files[quant], draft, drafter, length)
            shares = [other_share(answer(made, STORY, tokens)) for _ in range(runs)]
            made.close()
            print(f"| {quant} | {drafter} | {statistics.median(shares):.2%} ({max(shares):.2%}) |")


def measure_against_high_level(files: dict[str, Path], runs: int, tokens: int) -> None:
    """Plain decoding against llama-cpp-python's own `Llama`."""
    from llama_cpp import Llama

    print("\n| target | specdec plain ÷ Llama, median (range) |\n|---|---|")
    for quant in ("F16", "Q4_1"):
        made = engine(files[quant], None, "none", 1)
        high = Llama(
            str(files[quant]),
            n_ctx=CONTEXT.n_ctx,
            n_threads=CONTEXT.threads,
            n_threads_batch=CONTEXT.threads,
            verbose=False,
        )
        prompt = prompt_tokens(made.target, STORY, None, raw=False)
        ratios = []
        for _ in range(runs + 1):
            ours = speed(answer(made, STORY, tokens))
            high.reset()
            stream = high.generate(prompt, temp=0.0, repeat_penalty=1.0)
            next(stream)  # the prompt is read with the first token
            begun = perf_counter()
            for _token, _ in zip(stream, range(tokens - 1), strict=False):
                pass
            ratios.append(ours / ((tokens - 1) / (perf_counter() - begun)))
        made.close()
        high.close()
        kept = ratios[1:]
        print(f"| {quant} | {statistics.median(kept):.3f} ({min(kept):.3f}–{max(kept):.3f}) |")


GAINS = (
    ("F32", "code", CODE, "model", 3),
    ("F32", "code", CODE, "auto", 16),
    ("F16", "code", CODE, "auto", 16),
    ("F16", "edit", EDIT, "auto", 16),
    ("F16", "story", STORY, "auto", 16),
)
"""Target, task, prompt, drafter, longest draft; the draft is always Q4_0."""


def measure_gain(files: dict[str, Path], runs: int, tokens: int) -> None:
    """Drafted against plain, pair by pair."""
    print("\n| target, task | drafter | against plain, median (range) | accepted |\n|---|---|---|---|")
    for quant, task, prompt, drafter, length in GAINS:
        plain = engine(files[quant], None, "none", 1)
        drafted = engine(files[quant], files["Q4_0"], drafter, length)
        ratios, accepted = [], 0.0
        for _ in range(runs + 1):
            base = speed(answer(plain, prompt, tokens))
            generation = answer(drafted, prompt, tokens)
            ratios.append(speed(generation) / base)
            accepted = generation.statistics.acceptance_rate
        drafted.close()
        plain.close()
        kept = ratios[1:]
        spread = f"{statistics.median(kept):.2f} ({min(kept):.2f}–{max(kept):.2f})"
        print(f"| {quant}, {task} | {drafter}, up to {length} | {spread} | {accepted:.0%} |")


def main() -> None:
    """Make the files, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=256)
    chosen = parser.parse_args()
    backend = LlamaBackend()
    base = make_ready(resolve_model("smollm2-135m-q4_1", load_catalog()), backend.quantize)
    with tempfile.TemporaryDirectory() as folder:
        files = {"Q4_1": base}
        for quant in ("Q4_0", "F16", "F32"):
            files[quant] = Path(folder) / f"{quant}.gguf"
            backend.quantize(base, files[quant], quant)
        measure_overhead(files, chosen.runs, chosen.tokens)
        measure_against_high_level(files, chosen.runs, chosen.tokens)
        measure_gain(files, chosen.runs, chosen.tokens)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
