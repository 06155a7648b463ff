"""The emulator against the Hub's real client: what the client makes of each answer is what tests rely on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from huggingface_hub import HfApi, get_hf_file_metadata, hf_hub_download, hf_hub_url
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from specdec_cli.registry.hub_errors import TRANSPORT_ERRORS
from tests.support.hub import GOOD_TOKEN, HubEmulator

CONTENT = b"GGUF" + bytes(range(256)) * 4000


def fetch(
    hub: HubEmulator, name: str = "m-Q8_0.gguf", token: str | None = None, revision: str | None = None
) -> bytes:
    cache = os.environ["HF_HUB_CACHE"]
    path = hf_hub_download(
        "owner/repo", name, endpoint=hub.endpoint, cache_dir=cache, token=token, revision=revision
    )
    return Path(path).read_bytes()


def test_the_client_downloads_through_the_cdn_and_finds_it_cached(hub: HubEmulator) -> None:
    commit = hub.add("owner/repo", {"m-Q8_0.gguf": CONTENT})
    assert fetch(hub, token=GOOD_TOKEN) == CONTENT
    assert fetch(hub, token=GOOD_TOKEN) == CONTENT
    assert len(hub.asked("cdn", "GET")) == 1
    assert hub.asked("hub", "HEAD")[0].headers["authorization"] == f"Bearer {GOOD_TOKEN}"
    assert "authorization" not in hub.asked("cdn")[0].headers
    metadata = get_hf_file_metadata(hf_hub_url("owner/repo", "m-Q8_0.gguf", endpoint=hub.endpoint))
    assert (metadata.commit_hash, metadata.size) == (commit, len(CONTENT))
    assert metadata.xet_file_data is None


def test_listing_and_pages(hub: HubEmulator) -> None:
    hub.page_size = 2
    commit = hub.add("owner/repo", {f"m-{n}.gguf": b"GGUF" for n in range(5)})
    api = HfApi(endpoint=hub.endpoint)
    assert [entry.path for entry in api.list_repo_tree("owner/repo")] == [f"m-{n}.gguf" for n in range(5)]
    info = api.model_info("owner/repo")
    assert info.sha == commit
    assert len(info.siblings or []) == 5


def test_refusals_are_the_clients_own_errors(hub: HubEmulator) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": CONTENT}, gated=True)
    with pytest.raises(GatedRepoError):
        fetch(hub)
    with pytest.raises(GatedRepoError):
        fetch(hub, token="hf_somebodyElse")
    assert fetch(hub, token=GOOD_TOKEN) == CONTENT
    with pytest.raises(EntryNotFoundError):
        fetch(hub, "other.gguf", token=GOOD_TOKEN)
    with pytest.raises(RevisionNotFoundError):
        fetch(hub, revision="v9", token=GOOD_TOKEN)
    with pytest.raises(RepositoryNotFoundError):
        HfApi(endpoint=hub.endpoint).model_info("owner/nothing", token=GOOD_TOKEN)
    hub.answer(500)
    with pytest.raises(HfHubHTTPError):
        HfApi(endpoint=hub.endpoint).model_info("owner/repo")


def test_faults_of_bodies(hub: HubEmulator) -> None:
    large = CONTENT * 12
    hub.add("owner/repo", {"m-Q8_0.gguf": large, "n-Q8_0.gguf": CONTENT[:-1], "o-Q8_0.gguf": CONTENT[:-2]})
    hub.cdn_behaviour.cuts = [11_000_000]
    assert fetch(hub) == large  # within one call the client goes on where the connection was cut
    ranges = [request.headers.get("range") for request in hub.asked("cdn", "GET")]
    assert ranges == [None, f"bytes={10 * 2**20}-"]
    hub.cdn_behaviour.corrupt = True
    assert fetch(hub, "n-Q8_0.gguf") != CONTENT[:-1]  # the client does not compare hashes
    hub.cdn_behaviour.corrupt, hub.cdn_behaviour.shorten = False, 10
    with pytest.raises(OSError, match="Consistency check failed"):
        fetch(hub, "o-Q8_0.gguf")


def test_silence(hub: HubEmulator) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": CONTENT})
    hub.silent = True
    with pytest.raises(TRANSPORT_ERRORS, match="timed out"):
        HfApi(endpoint=hub.endpoint).model_info("owner/repo", timeout=0.2)
    assert len(hub.requests) == 1
