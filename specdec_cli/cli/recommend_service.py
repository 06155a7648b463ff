"""What `specdec recommend` does once its options are values, and what `run` takes when no model is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from specdec_cli.cli.environment import Environment
from specdec_cli.cli.machine import chosen_machine
from specdec_cli.errors import SpecdecError
from specdec_cli.gguf.reader import read_header
from specdec_cli.hardware.values import Machine
from specdec_cli.memory.read_shape import read_shape
from specdec_cli.memory.shape import ModelShape
from specdec_cli.recommend import Candidate, Recommendation, Use, rank
from specdec_cli.registry.catalog import Catalog, ModelEntry, Pair, load_catalog
from specdec_cli.registry.resolve import Folders
from specdec_cli.registry.sketch import sketch_header
from specdec_cli.registry.sources import DerivedSource, HubSource
from specdec_cli.registry.store import Inventory, take_inventory
from specdec_cli.settings import DEFAULT_CONTEXT

SCHEMA = 1
DEMO = "demo"


def recommendations(
    environment: Environment, *, use: Use = "any", n_ctx: int | None = None, machine: str | None = None
) -> tuple[tuple[Recommendation, ...], Machine]:
    """All pairs of the catalog, best first, for the machine that was asked for."""
    probe = chosen_machine(environment, machine)
    catalog, folders = load_catalog(), Folders.default()
    ranked = rank(candidates(catalog, folders), probe.machine, use=use, n_ctx=n_ctx or DEFAULT_CONTEXT.n_ctx)
    return ranked, probe.machine


def candidates(catalog: Catalog, folders: Folders, only: str | None = None) -> Iterator[Candidate]:
    """Every target with every draft of every pair, with what is known of them without a network."""
    inventory = take_inventory(catalog, folders)
    shapes = Shapes(inventory, folders)
    for pair in catalog.pairs.values():
        if only is not None and pair.name != only:
            continue
        for target in pair.targets:
            for draft in pair.drafts:
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


class Shapes:
    """The shapes of catalog models: by published dimensions, else by the header of the file that is here."""

    def __init__(self, inventory: Inventory, folders: Folders) -> None:
        self._inventory = inventory
        self._folders = folders
        self._known: dict[ModelEntry, ModelShape | None] = {}

    def of(self, entry: ModelEntry) -> ModelShape | None:
        """None where nothing is known without asking the Hub."""
        if entry not in self._known:
            self._known[entry] = self._find(entry)
        return self._known[entry]

    def _find(self, entry: ModelEntry) -> ModelShape | None:
        sketch = sketch_header(entry)
        if sketch is not None:
            return read_shape(sketch)
        model = self._inventory.by_entry.get(entry)
        try:
            if model is not None:
                return read_shape(read_header(model.path))
            if isinstance(entry.source, HubSource):
                return self._read_before(entry.source)
        except SpecdecError:
            return None
        return None

    def _read_before(self, source: HubSource) -> ModelShape | None:
        """From a header that `check` or `pull` read earlier."""
        from specdec_cli.registry.hub import HubClient
        from specdec_cli.registry.remote import read_remote_header

        remote = read_remote_header(source, HubClient(offline=True), self._folders.cache)
        return read_shape(remote.header)


def recommend_document(ranked: tuple[Recommendation, ...], machine: Machine, use: Use) -> dict[str, Any]:
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
