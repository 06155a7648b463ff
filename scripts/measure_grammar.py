"""JSON of a 12-field schema with the demo pair: with speculation against without, paired and interleaved.

    python scripts/measure_grammar.py [ROUNDS]

Answers are checked against `json.loads` and must be the same tokens. Prints a line per drafter: tokens per second
relative to `--drafter none` under the same grammar, what was drafted by whom, and what share of the time went
into anything but the models.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

from specdec_cli.assemble import EngineRequest, assemble
from specdec_cli.draft.catalog import drafter_kind
from specdec_cli.engine.engine import Engine
from specdec_cli.engine.generation import Generation
from specdec_cli.engine.template import prompt_tokens
from specdec_cli.grammar.json_schema import schema_to_gbnf
from specdec_cli.hardware.threads import default_threads
from specdec_cli.llama.backend import LlamaBackend
from specdec_cli.registry.catalog import load_catalog
from specdec_cli.registry.resolve import resolve_model
from specdec_cli.settings import ContextSettings, DraftSettings, GenerationSettings, SamplingSettings

SCHEMA = {
    "type": "object",
    "properties": {
        "first_name": {"type": "string", "maxLength": 20},
        "last_name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "email": {"type": "string", "maxLength": 40},
        "country": {"enum": ["Japan", "France", "Brazil", "Canada", "India"]},
        "city": {"type": "string", "maxLength": 20},
        "is_member": {"type": "boolean"},
        "member_since": {"type": "string", "format": "date"},
        "balance": {"type": "number", "minimum": 0, "maximum": 10000},
        "colours": {
            "type": "array",
            "items": {"enum": ["red", "green", "blue"]},
            "minItems": 1,
            "maxItems": 3,
        },
        "account_type": {"enum": ["basic", "premium", "business"]},
        "notes": {"type": "string", "maxLength": 60},
    },
}
PROMPTS = (
    "Write a JSON customer record for a person.",
    "Make up a customer from Japan and answer with JSON.",
    "Convert to JSON: Ada Lovelace, 36, ada@example.com, likes blue and red, premium account.",
)
DRAFTERS = ("auto", "model", "ngram")


def main() -> None:
    """Load, measure, close."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    with tempfile.TemporaryDirectory() as folder:
        engine = demo_engine(Path(folder))
        try:
            measure(engine, rounds)
        finally:
            engine.close()


def demo_engine(folder: Path) -> Engine:
    """SmolLM2-135M in F16 with its Q4_0 as the draft."""
    backend = LlamaBackend()
    base = resolve_model("smollm2-135m-q4_1", load_catalog()).path
    assert base is not None
    for quantization in ("F16", "Q4_0"):
        backend.quantize(base, folder / f"{quantization}.gguf", quantization)
    settings = ContextSettings(n_ctx=1024, threads=default_threads())
    schema = {**SCHEMA, "required": list(SCHEMA["properties"])}  # type: ignore[call-overload]
    request = EngineRequest(
        target=folder / "F16.gguf",
        draft=folder / "Q4_0.gguf",
        target_settings=settings,
        draft_settings=settings,
        drafting=DraftSettings(drafter="auto", draft_max=16),
        sampling=SamplingSettings(),
        grammar=schema_to_gbnf(json.dumps(schema)),
    )
    return assemble(backend, request)


def measure(engine: Engine, rounds: int) -> None:
    """All drafters on all prompts, in changing order; prints as it goes."""
    ratios: dict[str, list[float]] = {drafter: [] for drafter in DRAFTERS}
    sources: dict[str, dict[str, list[int]]] = {drafter: {} for drafter in DRAFTERS}
    others: dict[str, list[float]] = {drafter: [] for drafter in ("none", *DRAFTERS)}
    for number in range(rounds):
        for prompt in PROMPTS:
            speeds: dict[str, float] = {}
            answers: dict[str, list[int]] = {}
            order = ("none", *DRAFTERS) if number % 2 == 0 else (*reversed(DRAFTERS), "none")
            for drafter in order:
                generation = generate(engine, drafter, prompt)
                json.loads(generation.answer)
                speeds[drafter] = len(generation.token_ids) / generation.seconds
                answers[drafter] = generation.token_ids
                done = generation.statistics
                others[drafter].append(1 - (done.target_seconds + done.draft_seconds) / generation.seconds)
                for source, (drafted, accepted) in done.by_source.items():
                    counts = sources.setdefault(drafter, {}).setdefault(source, [0, 0])
                    counts[0] += drafted
                    counts[1] += accepted
            for drafter in DRAFTERS:
                ratios[drafter].append(speeds[drafter] / speeds["none"])
                same = answers[drafter] == answers["none"]
                print(
                    f"{drafter:6} {ratios[drafter][-1]:.2f} x of {speeds['none']:.1f} tok/s, same tokens: {same}"
                )
    print()
    for drafter in DRAFTERS:
        print(
            f"{drafter:6} median {statistics.median(ratios[drafter]):.3f}, "
            f"outside the models {statistics.median(others[drafter]):.1%}, (drafted, accepted) by source: "
            + ", ".join(f"{source} {tuple(counts)}" for source, counts in sources[drafter].items())
        )
    print(f"none: outside the model {statistics.median(others['none']):.1%}")


def generate(engine: Engine, drafter: str, prompt: str) -> Generation:
    """One answer; drafters come new, so that each has to learn as in a program of its own."""
    kind_max = drafter_kind(drafter).draft_max
    engine.use_draft_settings(draft_max=kind_max)
    engine.use_drafter(drafter, fresh=True)
    engine.session.target.cut(0)
    engine.session.committed = []
    generation = engine.generate(GenerationSettings(max_tokens=300))
    generation.prefill(prompt_tokens(engine.target, prompt, None, raw=False))
    for _event in generation:
        pass
    return generation


if __name__ == "__main__":
    main()
