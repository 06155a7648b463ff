"""specdec against llama.cpp's own speculative example: same pair, same prompts, same length; prints markdown.

    python scripts/measure_against_llama_cpp.py BINARY [--targets F16,F32] [--tasks code,chat,edit] [--runs 3]
                                                [--tokens 256] [--lengths 1,2,4,8,16]

BINARY is `llama-speculative-simple`, built from the llama.cpp that llama-cpp-python carries in its source package
(`vendor/llama.cpp`): cmake -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build --target
llama-speculative-simple. Both are timed by themselves, from the first token on: its "decoded … tokens in … seconds"
and our generation.seconds. Its best length is chosen per task, in hindsight. Processes take turns; greedy.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

from measure_matrix import DRAFT, model_file

from specdec_cli.bench.tasks import parse_tasks, prompts_of
from specdec_cli.hardware.threads import default_threads

CONTEXT = 2048
SPEED = re.compile(r"decoded\s+(\d+) tokens in\s+([\d.]+) seconds")
CHAT = "<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"
"""SmolLM2's turns, written out so that both programs read the same text."""


def theirs(binary: str, target: Path, draft: Path, prompt: str, length: int, tokens: int) -> float:
    """Tokens per second of llama.cpp's example with a fixed draft length."""
    threads = str(default_threads())
    models = ["-m", str(target), "-md", str(draft), "--spec-type", "draft-simple"]
    limits = ["-n", str(tokens), "-c", str(CONTEXT), "-b", str(CONTEXT), "--spec-draft-n-max", str(length)]
    finished = subprocess.run(
        [binary, *models, *limits, "--temp", "0", "-t", threads, "-p", prompt],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    found = SPEED.search(finished.stdout + finished.stderr)
    if found is None:
        sys.exit(f"{binary} said no speed:\n{finished.stderr[-2000:]}")
    return int(found[1]) / float(found[2])


def ours(target: Path, draft: Path, prompt: str, tokens: int, drafter: str) -> float:
    """Tokens per second of `specdec run`."""
    command = [sys.executable, "-m", "specdec_cli", "run", "--target", str(target), "--raw", "--json"]
    models = ["--draft", str(draft)] if drafter != "none" else []
    finished = subprocess.run(
        [*command, *models, "--drafter", drafter, "-n", str(tokens), "--ctx", str(CONTEXT)],
        input=prompt,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(finished.stdout)["generation"]["tokens_per_second"])


def main() -> None:
    """Measure and print a row per target and task."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary")
    parser.add_argument("--targets", default="F16,F32")
    parser.add_argument("--tasks", default="code,chat,edit")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--lengths", default="1,2,4,8,16")
    options = parser.parse_args()
    lengths = [int(length) for length in options.lengths.split(",")]
    draft = model_file(DRAFT)
    print("| target | task | llama.cpp, best length | plain | specdec auto | auto ÷ llama.cpp |")
    print("|---|---|---:|---:|---:|---:|")
    for name in options.targets.split(","):
        target = model_file(name)
        for task in parse_tasks(options.tasks):
            other: dict[int, list[float]] = {length: [] for length in lengths}
            auto: list[float] = []
            plain: list[float] = []
            for text in prompts_of(task)[: options.runs]:
                prompt = CHAT.format(prompt=text)
                auto.append(ours(target, draft, prompt, options.tokens, "auto"))
                for length in lengths:
                    speed = theirs(options.binary, target, draft, prompt, length, options.tokens)
                    other[length].append(speed)
                plain.append(ours(target, draft, prompt, options.tokens, "none"))
            best = max(other, key=lambda length: median(other[length]))
            ratios = [mine / its for mine, its in zip(auto, other[best], strict=True)]
            print(
                f"| {name} | {task} | {median(other[best]):.1f} ({best}) | {median(plain):.1f} "
                f"| {median(auto):.1f} | {median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f}) |",
                flush=True,
            )


if __name__ == "__main__":
    main()
