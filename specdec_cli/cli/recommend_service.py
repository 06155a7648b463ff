"""What `specdec recommend` does once its options are values, and what `run` takes when no model is named."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator
from typing import Any

from specdec_cli.cli.environment import Environment
from specdec_cli.cli.machine import chosen_machine
from specdec_cli.cli.shapes import Shapes
from specdec_cli.errors import UsageProblem
from specdec_cli.hardware.values import Machine
from specdec_cli.recommend import Candidate, Recommendation, Use, rank
from specdec_cli.registry.catalog import Catalog, ModelEntry, Pair, load_catalog
from specdec_cli.registry.resolve import Folders
from specdec_cli.registry.sources import DerivedSource, HubSource
from specdec_cli.registry.store import Inventory, take_inventory
from specdec_cli.ui.console import Printer
from specdec_cli.ui.models_view import print_recommendations

SCHEMA = 1
USES: dict[str, Use] = {"code": "code", "chat": "chat", "any": "any"}


def run_recommend(
    environment: Environment, *, use: str, n_ctx: int | None, machine: str | None, json: bool
) -> int:
    """Print the ranking or the document; returns the exit code."""
    if use not in USES:
        raise UsageProblem(f"--use {use}: it is one of {', '.join(USES)}")
    if n_ctx is not None and n_ctx < 1:
        raise UsageProblem(f"--ctx {n_ctx}: at least 1 is needed")
    probe = chosen_machine(environment, machine)
    known = candidates(load_catalog(), Folders.default())
    ranked = rank(known, probe.machine, use=USES[use], n_ctx=n_ctx)
    if json:
        document = recommend_document(ranked, probe.machine, use)
        environment.stdout.write(json_module.dumps(document, ensure_ascii=False) + "\n")
    else:
        printer = Printer(environment.stderr)
        for finding in probe.findings:
            printer.finding(finding)
        print_recommendations(ranked, probe.machine, environment.stdout)
    environment.stdout.flush()
    return 0


def candidates(catalog: Catalog, folders: Folders) -> Iterator[Candidate]:
    """Every pair with each of its targets, as `NAME:QUANT` would run it; what is known without a network."""
    inventory = take_inventory(catalog, folders)
    shapes = Shapes(inventory, folders)
    for pair in catalog.pairs.values():
        here = (entry for entry in pair.drafts if entry in inventory.by_entry)
        draft = next(here, pair.draft)
        for target in pair.targets:
            yield _candidate(pair, target, draft, inventory, shapes)


def _candidate(
    pair: Pair, target: ModelEntry, draft: ModelEntry, inventory: Inventory, shapes: Shapes
) -> Candidate:
    missing = [entry for entry in (target, draft) if entry not in inventory.by_entry]
    to_fetch = [entry for entry in missing if isinstance(entry.source, HubSource)]
    made = all(isinstance(entry.source, DerivedSource) for entry in missing)
    sizes = [entry.bytes or None for entry in to_fetch]
    return Candidate(
        pair=pair,
        target=target,
        draft=draft,
        target_shape=shapes.of(target),
        draft_shape=shapes.of(draft),
        here=not missing or made,
        bytes_to_download=None if None in sizes else sum(size for size in sizes if size is not None),
    )


def recommend_document(ranked: tuple[Recommendation, ...], machine: Machine, use: str) -> dict[str, Any]:
    """What `recommend --json` prints. Sizes in bytes."""
    return {
        "schema": SCHEMA,
        "machine": machine.name,
        "use": use,
        "recommendations": [_recommendation_document(recommendation) for recommendation in ranked],
    }


def _recommendation_document(recommendation: Recommendation) -> dict[str, Any]:
    candidate, prediction = recommendation.candidate, recommendation.prediction
    speculative = prediction.speculative_tps if prediction is not None else None
    tightest = recommendation.tightest
    return {
        "pair": candidate.pair.name,
        "reference": recommendation.reference,
        "family": candidate.pair.family,
        "target": _entry_document(candidate.target),
        "draft": _entry_document(candidate.draft),
        "fits": recommendation.fits,
        "context": recommendation.n_ctx,
        "memory": None
        if tightest is None
        else {
            "device": tightest.device.name,
            "required": tightest.required,
            "usable": tightest.device.usable,
        },
        "prediction": None
        if prediction is None
        else {
            "plain_tps": prediction.plain_tps,
            "speculative_tps": None
            if speculative is None
            else {"low": speculative.low, "high": speculative.high},
        },
        "here": candidate.here,
        "bytes_to_download": candidate.bytes_to_download,
        "licence": candidate.pair.licence,
        "gated": candidate.pair.gated,
        "verified": candidate.pair.verified,
        "score": round(recommendation.score, 3),
        "why": recommendation.why,
    }


def _entry_document(entry: ModelEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "source": str(entry.source),
        "quant": entry.quant,
        "bytes": entry.bytes,
        "parameters": entry.parameters,
    }
