"""Command-line options that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specdec_cli.errors import UsageProblem
from specdec_cli.settings import DEFAULT_CONTEXT, DEFAULT_GENERATION, DEFAULT_SAMPLING, GenerationSettings

Pair = Annotated[
    str | None, typer.Option("--pair", help="A pair by its name in models.toml; `demo` needs no Hub.")
]
Target = Annotated[str | None, typer.Option("--target", help="The model that answers: a path to a .gguf.")]
Draft = Annotated[
    str | None, typer.Option("--draft", help="A smaller model of its family that drafts for it.")
]

MaxTokens = Annotated[
    int, typer.Option("-n", "--max-tokens", help="Most tokens to generate.", show_default=True)
]
ContextSize = Annotated[
    int | None,
    typer.Option(
        "--ctx", help=f"Context size in tokens [default: {DEFAULT_CONTEXT.n_ctx}, or the model's own if less]"
    ),
]
Temperature = Annotated[float, typer.Option("--temp", help="0 is greedy: always the most likely token.")]
TopK = Annotated[int, typer.Option("--top-k", help="Keep the K most likely tokens; 0 is off.")]
TopP = Annotated[
    float, typer.Option("--top-p", help="Keep the likeliest tokens up to this probability; 1 is off.")
]
MinP = Annotated[
    float, typer.Option("--min-p", help="Drop tokens less likely than this share of the best; 0 is off.")
]
RepeatPenalty = Annotated[float, typer.Option("--repeat-penalty", help="Weaken recent tokens; 1 is off.")]
TypicalP = Annotated[
    float,
    typer.Option("--typical-p", help="Keep tokens of typical surprise up to this probability; 1 is off."),
]
FrequencyPenalty = Annotated[
    float, typer.Option("--frequency-penalty", help="Weaken tokens by how often they were said; 0 is off.")
]
PresencePenalty = Annotated[
    float, typer.Option("--presence-penalty", help="Weaken tokens that were said at all; 0 is off.")
]
PenaltyLastN = Annotated[
    int, typer.Option("--penalty-last-n", help="How many of the last tokens the penalties see; -1 is all.")
]
DryMultiplier = Annotated[
    float, typer.Option("--dry-multiplier", help="Weaken what would prolong a repetition (DRY); 0 is off.")
]
DryBase = Annotated[float, typer.Option("--dry-base", help="How fast DRY grows with the repetition.")]
DryAllowedLength = Annotated[
    int, typer.Option("--dry-allowed-length", help="Repetitions up to this length are free of DRY.")
]
DryLastN = Annotated[
    int, typer.Option("--dry-last-n", help="How many of the last tokens DRY sees; -1 is all.")
]
XtcProbability = Annotated[
    float, typer.Option("--xtc-probability", help="Chance to drop the top choices (XTC); 0 is off.")
]
XtcThreshold = Annotated[
    float, typer.Option("--xtc-threshold", help="XTC drops all but the last token above this.")
]
LogitBias = Annotated[
    list[str] | None,
    typer.Option(
        "--logit-bias",
        metavar="TOKEN=+X",
        help="Add X to the logit of a token id; -inf bans it (repeatable).",
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", help="Random seed; without one, sampling takes a new one.")
]
Grammar = Annotated[
    Path | None,
    typer.Option(
        "--grammar", help="Only answers that satisfy this grammar (a GBNF file, `-`: standard input)."
    ),
]
JsonSchema = Annotated[
    Path | None,
    typer.Option("--json-schema", help="Only JSON that satisfies this schema (a file, `-`: standard input)."),
]
Stop = Annotated[list[str] | None, typer.Option("--stop", help="End the answer at this text (repeatable).")]

DraftMax = Annotated[int | None, typer.Option("--draft-max", help="Most tokens in a draft.")]
DrafterName = Annotated[
    str | None, typer.Option("--drafter", help="Who drafts: model, ngram, or none (plain decoding).")
]
Accept = Annotated[
    str | None,
    typer.Option(
        "--accept",
        help="match: the same seed gives the tokens of plain decoding; reject: the same distribution, more "
        "accepted when sampling; auto: match when greedy or when the drafter never draws by chance.",
    ),
]
Threads = Annotated[int | None, typer.Option("--threads", help="CPU threads of the target.")]
DraftThreads = Annotated[int | None, typer.Option("--draft-threads", help="CPU threads of the draft.")]
GpuLayers = Annotated[int | None, typer.Option("--gpu-layers", help="Target layers on the GPU; -1 is all.")]
DraftGpuLayers = Annotated[
    int | None, typer.Option("--draft-gpu-layers", help="Draft layers on the GPU; -1 is all.")
]
KvTypeName = Annotated[str, typer.Option("--kv-type", help="Type of both KV caches: f16, q8_0, q4_0, …")]
DraftKvTypeName = Annotated[
    str | None,
    typer.Option("--draft-kv-type", help="Type of the draft's KV cache [default: the same as the target's]"),
]
FlashAttentionMode = Annotated[str, typer.Option("--flash-attn", help="auto, on or off, for both models.")]

Offline = Annotated[
    bool,
    typer.Option(
        "--offline", help="Do not use the network; where no model is named, none is offered for download."
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Go on where the check refuses, but never into a native crash.")
]
Json = Annotated[
    bool, typer.Option("--json", help="End standard output with one JSON document, and nothing else.")
]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Show the settings in use and llama.cpp's log.")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Only the text; no progress, no summary.")]

MAX_TOKENS = DEFAULT_GENERATION.max_tokens
TEMPERATURE = DEFAULT_SAMPLING.temperature


def generation_settings(max_tokens: int, stop: list[str] | None) -> GenerationSettings:
    """Validated. Raises `UsageProblem`."""
    if max_tokens < 1:
        raise UsageProblem(f"--max-tokens {max_tokens}: at least 1 is needed")
    if any(not text for text in stop or []):
        raise UsageProblem("--stop '': a stop string cannot be empty")
    return GenerationSettings(max_tokens=max_tokens, stop=tuple(stop or ()))
