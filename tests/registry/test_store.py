"""What is here, and removing it without taking anything from anyone else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from huggingface_hub import hf_hub_download

from specdec_cli.errors import SpecdecError
from specdec_cli.registry.catalog import Catalog, load_catalog
from specdec_cli.registry.derive import ensure_derived
from specdec_cli.registry.download import download, plan_download
from specdec_cli.registry.folders import cache_dir, hub_cache_dir
from specdec_cli.registry.hub import HubClient
from specdec_cli.registry.records import mark_used
from specdec_cli.registry.removal import RemovalPlan, plan_removal, remove
from specdec_cli.registry.resolve import resolve_model, resolve_pair
from specdec_cli.registry.sources import HubSource
from specdec_cli.registry.store import Inventory, StoredPair, take_inventory
from tests.support.hub import HubEmulator
from tests.support.tiny_models import write_tiny_model

BIG, SMALL = HubSource("owner/big-GGUF", quant="Q4_K_M"), HubSource("owner/small-GGUF", file="s-Q8_0.gguf")
PAIRS = """
[[model]]
name = "small"
repo = "owner/small-GGUF"
file = "s-{quant}.gguf"
quants = { Q8_0 = 1000 }
[[pair]]
name = "one"
target = "owner/big-GGUF:Q4_K_M"
draft = "small"
[[pair]]
name = "two"
target = ["owner/other-GGUF", "owner/big-GGUF:Q8_0"]
draft = "small"
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    path = tmp_path / "models.toml"
    path.write_text(PAIRS)
    return load_catalog(path)


@pytest.fixture
def filled(hub: HubEmulator) -> HubEmulator:
    hub.add("owner/big-GGUF", {"b-Q4_K_M.gguf": b"GGUF" + bytes(4000), "b-Q8_0.gguf": b"GGUF" + bytes(8000)})
    hub.add("owner/small-GGUF", {"s-Q8_0.gguf": b"GGUF" + bytes(996)})
    hub.add("owner/other-GGUF", {f"o-Q4_K_M-0000{n}-of-00002.gguf": b"GGUF" + bytes(n) for n in (1, 2)})
    return hub


def pull(*sources: HubSource, folder: Path | None = None) -> None:
    client = HubClient()
    download(plan_download([client.locate(s) for s in sources], hub_cache_dir(), folder), client)


def fetch_with_other_tool(hub: HubEmulator, repo: str, file: str) -> None:
    hf_hub_download(repo, file, endpoint=hub.endpoint, cache_dir=hub_cache_dir())


def pair_of(inventory: Inventory, name: str) -> StoredPair:
    return next(stored for stored in inventory.pairs if stored.pair.name == name)


def test_pairs_say_what_is_here_and_what_is_missing(filled: HubEmulator, catalog: Catalog) -> None:
    before = pair_of(take_inventory(catalog), "one")
    assert (before.state, before.bytes_here, before.bytes_missing) == ("not here", 0, None)
    pull(SMALL)
    partly = pair_of(take_inventory(catalog), "one")
    assert (partly.state, partly.bytes_here) == ("partly here", 1000)
    pull(BIG)
    inventory = take_inventory(catalog)
    here = pair_of(inventory, "one")
    assert (here.state, here.bytes_here, here.bytes_missing) == ("here", 5004, 0)
    assert here.target is not None
    assert here.target.label == "owner/big-GGUF:Q4_K_M"
    assert {model.label: model.pairs for model in inventory.models if model.place == "hub"} == {
        "owner/big-GGUF:Q4_K_M": ("one",),
        "owner/small-GGUF:Q8_0": ("one", "two"),
    }
    assert pair_of(inventory, "two").state == "partly here"
    pull(HubSource("owner/big-GGUF", quant="Q8_0"))
    two = pair_of(take_inventory(catalog), "two")
    assert (two.state, two.target_entry.quant) == ("here", "Q8_0")


def test_demo_is_made_on_first_use_then_here(filled: HubEmulator, catalog: Catalog) -> None:
    demo = pair_of(take_inventory(catalog), "demo")
    assert (demo.state, demo.bytes_missing) == ("made on first use", 0)
    base = catalog.models["smollm2-135m-q4_1"][0]
    path = resolve_model(base.name, catalog).path
    assert path is not None
    for ftype in ("F16", "Q4_0"):
        ensure_derived(path, ftype, cache_dir(), lambda _base, made, kind: _write(made, kind))
    inventory = take_inventory(catalog)
    assert pair_of(inventory, "demo").state == "here"
    plan = plan_removal(["demo"], catalog)
    assert [model.path.name for model in plan.going] == [
        "SmolLM2-135M-Instruct-F16.gguf",
        "SmolLM2-135M-Instruct-Q4_0.gguf",
    ]
    remove(plan)
    assert pair_of(take_inventory(catalog), "demo").state == "made on first use"
    assert not (cache_dir() / "derived").exists()
    assert path.is_file()


def _write(path: Path, kind: str) -> None:
    write_tiny_model(path, metadata={"test.made": kind})


def test_models_of_other_tools_and_plain_folders_are_seen(
    filled: HubEmulator, catalog: Catalog, tmp_path: Path
) -> None:
    fetch_with_other_tool(filled, "owner/big-GGUF", "b-Q8_0.gguf")
    pull(HubSource("owner/other-GGUF"), folder=tmp_path / "models")
    inventory = take_inventory(catalog)
    models = {model.label: model for model in inventory.models}
    theirs, plain = models["owner/big-GGUF:Q8_0"], models["owner/other-GGUF:Q4_K_M"]
    assert (theirs.fetched_by_specdec, theirs.place) == (False, "hub")
    assert (plain.fetched_by_specdec, plain.place, len(plain.paths)) == (True, "folder", 2)
    assert resolve_pair("two", catalog).target.path == tmp_path / "models" / "o-Q4_K_M-00001-of-00002.gguf"
    assert pair_of(inventory, "two").target == plain
    remove(plan_removal(["owner/other-GGUF:Q4_K_M"], catalog))
    assert not list((tmp_path / "models").iterdir())
    # Of the pair's targets the one that is still here serves, though it is not the default.
    assert resolve_pair("two", catalog).target.path == theirs.path
    assert resolve_pair("two:Q8_0", catalog).target.path == theirs.path


def test_use_is_remembered(filled: HubEmulator, catalog: Catalog) -> None:
    pull(BIG)
    path = resolve_model("owner/big-GGUF:Q4_K_M", catalog).path
    assert path is not None
    assert take_inventory(catalog).models[0].last_used is None
    mark_used([path], cache_dir(), now=1234.5)
    assert take_inventory(catalog).models[0].last_used == 1234.5
    (cache_dir() / "used.json").write_text("[]")
    assert take_inventory(catalog).models[0].last_used is None


def kept(plan: RemovalPlan) -> dict[str, str]:
    return {item.model.label: item.kept_because for item in plan.items if item.kept_because}


def test_what_another_pair_needs_is_kept(filled: HubEmulator, catalog: Catalog) -> None:
    pull(BIG, SMALL, HubSource("owner/other-GGUF"))
    plan = plan_removal(["one"], catalog)
    assert [model.label for model in plan.going] == ["owner/big-GGUF:Q4_K_M"]
    assert plan.bytes_freed == 4004
    assert kept(plan) == {"owner/small-GGUF:Q8_0": "also of two"}
    remove(plan)
    inventory = take_inventory(catalog)
    assert (pair_of(inventory, "one").state, pair_of(inventory, "two").state) == ("partly here", "here")
    assert not kept(plan_removal(["one", "two"], catalog))
    remove(plan_removal(["two"], catalog))
    assert not list(hub_cache_dir().glob("models--*"))


def test_what_another_tool_fetched_is_kept_unless_forced(filled: HubEmulator, catalog: Catalog) -> None:
    fetch_with_other_tool(filled, "owner/small-GGUF", "s-Q8_0.gguf")
    pull(BIG)
    plan = plan_removal(["one"], catalog)
    assert kept(plan) == {"owner/small-GGUF:Q8_0": "fetched by another tool (--force removes it too)"}
    remove(plan)
    assert resolve_model("small", catalog).need == "nothing"
    remove(plan_removal(["one"], catalog, force=True))
    assert resolve_model("small", catalog).need == "download"


def test_other_files_and_commits_of_a_repository_stay(filled: HubEmulator, catalog: Catalog) -> None:
    pull(BIG)
    fetch_with_other_tool(filled, "owner/big-GGUF", "b-Q8_0.gguf")
    remove(plan_removal(["owner/big-GGUF:Q4_K_M"], catalog))
    repository = hub_cache_dir() / "models--owner--big-GGUF"
    assert len(list((repository / "blobs").iterdir())) == 1
    assert resolve_model("owner/big-GGUF:Q8_0", catalog).path is not None
    # The same content under two commits: the blob stays while a snapshot names it.
    pull(BIG)
    filled.add("owner/big-GGUF", {"README.md": b"new"})
    pull(BIG)
    remove(plan_removal(["owner/big-GGUF:Q4_K_M"], catalog))
    older = resolve_model("owner/big-GGUF:Q4_K_M", catalog).path
    assert older is not None
    assert older.read_bytes() == b"GGUF" + bytes(4000)


def test_names_that_are_not_here(filled: HubEmulator, catalog: Catalog) -> None:
    pull(BIG)
    with pytest.raises(SpecdecError, match="nothing of two is here"):
        plan_removal(["two"], catalog)
    with pytest.raises(SpecdecError, match="owner/bug-GGUF:Q4_K_M is not here") as caught:
        plan_removal(["owner/bug-GGUF:Q4_K_M"], catalog)
    assert caught.value.hint == "did you mean owner/big-GGUF:Q4_K_M?"
    assert len(plan_removal(["b-Q4_K_M.gguf"], catalog).going) == 1
    assert len(plan_removal(["owner/big-GGUF/b-Q4_K_M.gguf"], catalog).going) == 1


def test_fifty_models_are_listed_fast(catalog: Catalog) -> None:
    for number in range(50):
        folder = hub_cache_dir() / f"models--owner--m{number}-GGUF"
        snapshot = folder / "snapshots" / f"{number:040x}"
        for part in (snapshot, folder / "refs", folder / "blobs"):
            part.mkdir(parents=True)
        (folder / "refs" / "main").write_text(snapshot.name)
        (folder / "blobs" / "x").write_bytes(b"GGUF")
        if os.name == "nt":
            (snapshot / "m-Q8_0.gguf").write_bytes(b"GGUF")
        else:
            (snapshot / "m-Q8_0.gguf").symlink_to("../../blobs/x")
    started = time.process_time()
    assert len([model for model in take_inventory(catalog).models if model.place == "hub"]) == 50
    assert time.process_time() - started < 0.5
