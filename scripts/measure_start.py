"""How long commands take to begin: `--help`, `list` over 50 models, a cached model with and without the Hub.

    python scripts/measure_start.py [--runs 11]

Everything runs in caches of its own, interleaved; medians and ranges in seconds, as markdown for docs/log.md. The 50
models have the real header of the demo model and a sparse rest; five pairs of the user's name ten of them, so that
their headers must be read once.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))

from specdec_cli.gguf.reader import read_header
from specdec_cli.registry.catalog import packaged_models_file
from specdec_cli.registry.catalog_file import read_catalog_file
from specdec_cli.registry.resolve import resolve_model
from specdec_cli.registry.sources import HubSource
from tests.support.hub import HubEmulator

MODELS = 50
USERS_PAIRS = 5
RUN = ("run", "--target", "owner/SmolLM2-GGUF:Q4_1", "-n", "16", "-q", "Count to ten.")


def keep(hub_cache: Path, repo: str, file: str, content: bytes, size: int) -> None:
    """A file in the Hub's cache, as the Hub's client lays it out."""
    folder = hub_cache / f"models--{repo.replace('/', '--')}"
    blob, commit = folder / "blobs" / f"{file}.blob", "0" * 40
    snapshot = folder / "snapshots" / commit
    for made in (blob.parent, snapshot, folder / "refs"):
        made.mkdir(parents=True)
    (folder / "refs" / "main").write_text(commit)
    with blob.open("wb") as written:
        written.write(content)
        written.truncate(max(size, len(content)))
    (snapshot / file).symlink_to(blob)


def fill(hub_cache: Path, config: Path) -> None:
    """50 models: first the catalog's, then others, of which the user's own pairs name some."""
    catalog = read_catalog_file(packaged_models_file())
    demo = resolve_model("smollm2-135m-q4_1", catalog).path
    assert demo is not None
    with demo.open("rb") as file:
        header = file.read(read_header(demo).header_bytes)
    least = demo.stat().st_size
    known = [entries[0] for entries in catalog.models.values() if isinstance(entries[0].source, HubSource)]
    files = [(e.source.repo, e.source.file, e.bytes or 10**9) for e in known if e.source.file is not None]
    others = [(f"owner/Model{n}-GGUF", f"Model{n}-Q4_K_M.gguf", n * 10**8) for n in range(MODELS)]
    for repo, name, size in [*files, *others][:MODELS]:
        keep(hub_cache, repo, name, header, max(size, least))
    keep(hub_cache, "owner/SmolLM2-GGUF", "SmolLM2-Q4_1.gguf", demo.read_bytes(), 0)
    config.mkdir()
    pairs = (
        f'[[pair]]\nname = "mine{n}"\ntarget = "owner/Model{n}-GGUF"\ndraft = "owner/Model{n + 5}-GGUF"\n'
        for n in range(USERS_PAIRS)
    )
    (config / "models.toml").write_text("\n".join(pairs))


def seconds(arguments: tuple[str, ...], variables: Mapping[str, str]) -> float:
    """One run of the program; whatever it prints is dropped."""
    program = Path(sys.executable).with_name("specdec")
    begun = perf_counter()
    subprocess.run([program, *arguments], env=os.environ | variables, capture_output=True, check=True)
    return perf_counter() - begun


def table(title: str, measured: Mapping[str, list[float]]) -> None:
    """Print medians and ranges."""
    print(f"\n| {title} | median (range), s |\n|---|---|")
    for name, values in measured.items():
        print(f"| {name} | {statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f}) |")


def measure_list(folder: Path, variables: Mapping[str, str], runs: int) -> None:
    """`--help`, `list` when nothing is known yet, and `list` as usual."""
    names = ("`specdec --help`", f"`specdec list`, {MODELS} models, first time", "`specdec list`, later")
    measured: dict[str, list[float]] = {name: [] for name in names}
    seconds(("list",), variables)
    for number in range(runs):
        fresh = {"SPECDEC_CACHE": str(folder / f"fresh-{number}")}
        measured[names[0]].append(seconds(("--help",), variables))
        measured[names[1]].append(seconds(("list",), {**variables, **fresh}))
        measured[names[2]].append(seconds(("list",), variables))
    table("command", measured)


def measure_run(folder: Path, variables: Mapping[str, str], runs: int) -> None:
    """A cached model of the Hub, 16 tokens, with the Hub in every state."""
    hubs = {name: HubEmulator(folder) for name in ("online", "429", "silent", "refused")}
    hubs["429"].answer(429, {"Retry-After": "30"}, times=-1)
    hubs["silent"].silent = True
    hubs["refused"].close()
    states = {name: ({"HF_ENDPOINT": hub.endpoint}, RUN) for name, hub in hubs.items()}
    states["HF_HUB_OFFLINE"] = ({"HF_HUB_OFFLINE": "1"}, RUN)
    states["--offline"] = ({}, (*RUN[:-1], "--offline", RUN[-1]))
    measured: dict[str, list[float]] = {name: [] for name in states}
    seconds(RUN, variables)
    for _ in range(runs):
        for name, (extra, arguments) in states.items():
            measured[name].append(seconds(arguments, {**variables, **extra}))
    table("`specdec run` of a model in the Hub's cache", measured)
    print(f"\nRequests that the Hubs received: {sum(len(hub.requests) for hub in hubs.values())}")


def main() -> None:
    """Fill the caches, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=11)
    runs: int = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        places = {
            "SPECDEC_CACHE": "cache",
            "SPECDEC_CONFIG": "config",
            "HF_HOME": "hf",
            "HF_HUB_CACHE": "hub",
        }
        variables = {variable: str(folder / place) for variable, place in places.items()}
        fill(folder / "hub", folder / "config")
        measure_list(folder, variables, runs)
        measure_run(folder, variables, runs)


if __name__ == "__main__":
    main()
