"""Headers told from published dimensions: sizes close to the published ones, plans close to the real file's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specdec_cli.gguf.reader import read_header
from specdec_cli.memory.cache import cache_bytes
from specdec_cli.memory.read_shape import read_shape
from specdec_cli.memory.wish import ModelWish
from specdec_cli.registry.catalog import Catalog, ModelEntry, load_catalog
from specdec_cli.registry.resolve import resolve_entry
from specdec_cli.registry.sketch import sketch_header
from specdec_cli.settings import ContextSettings

CATALOG: Catalog = load_catalog()
ENTRIES = [entry for entries in CATALOG.models.values() for entry in entries]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.label)
def test_sizes_and_parameters_are_the_published_ones(entry: ModelEntry) -> None:
    sketch = sketch_header(entry)
    if entry.facts is None:
        assert sketch is None
        assert entry.name.startswith("gemma-4")
        return
    assert sketch is not None
    assert read_shape(sketch).unknown is None
    assert sketch.context_length == entry.context
    assert sketch.n_parameters == pytest.approx(entry.parameters, rel=0.03)
    if entry.bytes:
        assert sketch.weight_bytes == pytest.approx(entry.bytes, rel=0.03)


def test_a_sketch_plans_like_the_real_header() -> None:
    entry = CATALOG.models["smollm2-135m-q4_1"][0]
    path = resolve_entry(entry).path
    assert path is not None
    sketch = sketch_header(entry)
    assert sketch is not None
    real, told = (ModelWish(read_shape(h), ContextSettings(n_ctx=2048)) for h in (read_header(path), sketch))
    assert cache_bytes(told) == cache_bytes(real) == 45 * 2**20
    assert told.shape.weight_bytes == pytest.approx(real.shape.weight_bytes, rel=0.03)
    assert (told.shape.n_vocab, told.shape.parameters) == (real.shape.n_vocab, real.shape.parameters)


def test_what_the_catalog_does_not_know_is_not_guessed() -> None:
    entry = CATALOG.models["qwen3-8b"][0]
    assert sketch_header(replace(entry, quant="TQ1_0")) is None
    assert sketch_header(replace(entry, facts=None)) is None
