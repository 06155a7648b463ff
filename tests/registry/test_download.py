"""Downloads: whole or not there, resumed after whatever ended them, verified, in the Hub's ordinary cache."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from huggingface_hub import scan_cache_dir, try_to_load_from_cache

from specdec_cli.errors import SpecdecError
from specdec_cli.registry.catalog import Catalog
from specdec_cli.registry.download import (
    DownloadEvent,
    DownloadPlan,
    check_space,
    download,
    plan_download,
)
from specdec_cli.registry.folders import hub_cache_dir
from specdec_cli.registry.hub import HubClient
from specdec_cli.registry.resolve import resolve_model
from specdec_cli.registry.sources import HubSource
from tests.support.hub import HubEmulator

MIB = 2**20
SOURCE = HubSource("owner/repo", quant="Q8_0")
needs_signals = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")


def content(size: int, seed: int = 0) -> bytes:
    block = hashlib.sha256(bytes([seed])).digest() * 1024
    return (b"GGUF" + block * (size // len(block) + 1))[:size]


def plan(*sources: HubSource, folder: Path | None = None) -> DownloadPlan:
    client = HubClient()
    return plan_download([client.locate(source) for source in sources], hub_cache_dir(), folder)


def pull(*sources: HubSource, folder: Path | None = None) -> tuple[list[Path], list[DownloadEvent]]:
    events: list[DownloadEvent] = []
    paths = download(plan(*(sources or (SOURCE,)), folder=folder), HubClient(), events.append)
    return list(paths), events


def notes(events: list[DownloadEvent]) -> list[str]:
    return [event.note for event in events if event.note]


def leftovers() -> list[Path]:
    return list(hub_cache_dir().rglob("*.incomplete"))


def failure(*sources: HubSource, folder: Path | None = None) -> SpecdecError:
    with pytest.raises(SpecdecError) as caught:
        pull(*sources, folder=folder)
    assert "\n" not in caught.value.message + (caught.value.hint or "")
    return caught.value


def test_a_model_lands_in_the_hubs_cache_as_the_client_would_put_it(hub: HubEmulator) -> None:
    data = content(3 * MIB)
    commit = hub.add("owner/repo", {"sub/m-Q8_0.gguf": data, "README.md": b"hi"})
    (path,), events = pull()
    assert path.read_bytes() == data
    assert path == hub_cache_dir() / "models--owner--repo" / "snapshots" / commit / "sub" / "m-Q8_0.gguf"
    assert try_to_load_from_cache("owner/repo", "sub/m-Q8_0.gguf", cache_dir=hub_cache_dir()) == str(path)
    (repository,) = scan_cache_dir(hub_cache_dir()).repos
    assert (repository.repo_id, repository.size_on_disk) == ("owner/repo", len(data))
    assert repository.refs.keys() == {"main"}
    assert resolve_model("owner/repo:Q8_0", Catalog()).path == path
    assert [event.bytes_here for event in events] == [0, MIB, 2 * MIB, 3 * MIB, 3 * MIB]
    assert not leftovers()
    assert pull()[0] == [path]
    assert hub.bytes_served() == len(data)


def test_target_draft_and_all_shards_together(hub: HubEmulator) -> None:
    shards = {f"big/t-Q4_K_M-0000{n}-of-00003.gguf": content(MIB + n, n) for n in (1, 2, 3)}
    hub.add("owner/target", shards)
    hub.add("owner/draft", {"d-Q8_0.gguf": content(MIB, 9)})
    target, draft = HubSource("owner/target"), HubSource("owner/draft")
    both = plan(target, draft, target)
    assert len(both.files) == 4
    assert both.bytes_missing == both.bytes_total == 4 * MIB + 6
    paths, _events = pull(target, draft)
    assert [path.read_bytes() for path in paths] == [*shards.values(), content(MIB, 9)]
    assert resolve_model("owner/target:Q4_K_M", Catalog()).path == paths[0]


def test_a_cut_connection_is_taken_up_in_the_same_run(hub: HubEmulator) -> None:
    data = content(5 * MIB)
    hub.add("owner/repo", {"m-Q8_0.gguf": data})
    hub.cdn_behaviour.cuts = [2 * MIB + 1000, MIB]
    (path,), events = pull()
    assert path.read_bytes() == data
    assert [request.headers.get("range") for request in hub.asked("cdn")] == [
        None,
        f"bytes={2 * MIB}-",
        f"bytes={3 * MIB}-",
    ]
    assert len(notes(events)) == 2
    assert "going on from there" in notes(events)[0]


def test_giving_up_keeps_what_came_and_the_next_run_goes_on(
    hub: HubEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    data = content(5 * MIB)
    hub.add("owner/repo", {"m-Q8_0.gguf": data})
    hub.cdn_behaviour.cuts = [2 * MIB] + [0] * 20
    error = failure()
    assert (error.code, error.hint) == (
        "file.cut",
        "2.1 of 5.2 MB are kept; run the same command again to go on",
    )
    assert resolve_model("owner/repo:Q8_0", Catalog()).path is None
    hub.cdn_behaviour.cuts = []
    assert plan(SOURCE).bytes_missing == 3 * MIB
    assert pull()[0][0].read_bytes() == data
    assert not leftovers()


def start_pull(*arguments: str) -> subprocess.Popen[str]:
    program = Path(__file__).with_name("pull_process.py")
    return subprocess.Popen(
        [sys.executable, str(program), "owner/repo:Q8_0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@needs_signals
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("plain", [False, True], ids=["cache", "dir"])
def test_a_killed_process_is_resumed(hub: HubEmulator, tmp_path: Path, how: int, plain: bool) -> None:
    data = content(12 * MIB)
    hub.add("owner/repo", {"m-Q8_0.gguf": data})
    hub.cdn_behaviour.bytes_per_second = 12 * MIB
    arguments = [str(tmp_path / "models")] if plain else []
    with start_pull(*arguments) as process:
        wait_for(lambda: hub.bytes_served() > 4 * MIB)
        process.send_signal(how)
        process.communicate(timeout=20)
    assert process.returncode != 0
    folder = tmp_path / "models" if plain else None
    here = plan(SOURCE, folder=folder).files[0]
    assert not here.whole
    assert not here.path.exists()
    assert 2 * MIB <= here.bytes_here < 12 * MIB
    hub.cdn_behaviour.bytes_per_second = None
    served = hub.bytes_served()
    (path,), _events = pull(folder=folder)
    assert path.read_bytes() == data
    assert hub.bytes_served() - served == 12 * MIB - here.bytes_here
    assert [file.name for file in path.parent.iterdir()] == ["m-Q8_0.gguf"]


def test_two_pulls_at_once_download_once(hub: HubEmulator) -> None:
    data = content(6 * MIB)
    hub.add("owner/repo", {"m-Q8_0.gguf": data})
    hub.cdn_behaviour.bytes_per_second = MIB
    with start_pull() as first:
        wait_for(lambda: hub.bytes_served() > 0)
        with start_pull() as second:
            assert second.stdout is not None
            waiting = next(line for line in second.stdout if not line.strip().isdigit())
            hub.cdn_behaviour.bytes_per_second = None
            outputs = [process.communicate(timeout=30)[0] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], outputs
    assert waiting == "another process is downloading this file: waiting for it\n"
    assert hub.bytes_served() == len(data)
    path = resolve_model("owner/repo:Q8_0", Catalog()).path
    assert path is not None
    assert path.read_bytes() == data


def partial_of(hub: HubEmulator, received: bytes) -> Path:
    partial = plan(SOURCE).files[0].partial
    partial.parent.mkdir(parents=True, exist_ok=True)
    partial.write_bytes(received)
    return partial


def test_a_file_that_changed_on_the_hub_begins_anew(hub: HubEmulator) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": content(3 * MIB)})
    older = partial_of(hub, content(2 * MIB))
    data = content(3 * MIB, 1)
    hub.add("owner/repo", {"m-Q8_0.gguf": data})
    (path,), events = pull()
    assert path.read_bytes() == data
    assert notes(events) == ["m-Q8_0.gguf has changed on the Hub meanwhile: starting again"]
    assert not older.exists()


def test_a_damaged_partial_file_is_found_out_and_fetched_again(hub: HubEmulator) -> None:
    data = content(3 * MIB)
    hub.add("owner/repo", {"m-Q8_0.gguf": data})
    partial_of(hub, b"GGUF" + bytes(2 * MIB))
    (path,), events = pull()
    assert path.read_bytes() == data
    assert notes(events) == ["what was received earlier does not fit: starting again"]
    partial_of(hub, data)  # whole already: no byte is asked for
    path.unlink()
    path.resolve().unlink(missing_ok=True)
    (hub_cache_dir() / "models--owner--repo" / "blobs" / hashlib.sha256(data).hexdigest()).unlink()
    served = hub.bytes_served()
    assert pull()[0][0].read_bytes() == data
    assert hub.bytes_served() == served


def test_a_server_that_cannot_resume_starts_again(hub: HubEmulator) -> None:
    data = content(3 * MIB)
    hub.add("owner/repo", {"m-Q8_0.gguf": data})
    partial_of(hub, data[:MIB])
    hub.cdn_behaviour.ignore_ranges = True
    (path,), events = pull()
    assert path.read_bytes() == data
    assert notes(events) == ["the server cannot go on in the middle: starting again"]


def test_wrong_content_is_never_taken_for_the_model(hub: HubEmulator) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": content(3 * MIB)})
    hub.cdn_behaviour.corrupt = True
    error = failure()
    assert error.code == "file.wrong_content"
    assert not leftovers()
    assert resolve_model("owner/repo:Q8_0", Catalog()).path is None
    hub.cdn_behaviour.corrupt, hub.cdn_behaviour.shorten = False, 1000
    error = failure()
    assert error.code == "file.wrong_size"
    assert resolve_model("owner/repo:Q8_0", Catalog()).path is None
    hub.cdn_behaviour.shorten = 0
    assert pull()[0][0].read_bytes() == content(3 * MIB)


def test_a_longer_file_than_stated_is_refused(hub: HubEmulator) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": content(3 * MIB)})
    hub.cdn_behaviour.shorten = -10
    hub.answer(200, {}, content(4 * MIB), path_part="signed")
    assert failure().code == "file.wrong_size"


def test_a_web_page_costs_nothing_that_was_received(hub: HubEmulator) -> None:
    data = content(3 * MIB)
    hub.add("owner/repo", {"m-Q8_0.gguf": data})
    partial = partial_of(hub, data[: 2 * MIB])
    hub.cdn_behaviour.html = True
    error = failure()
    assert error.code == "file.hub_answer"
    assert "not a GGUF file" in error.message
    assert partial.read_bytes() == data[: 2 * MIB]
    hub.cdn_behaviour.html = False
    assert pull()[0][0].read_bytes() == data


def test_limits_in_the_middle_are_waited_for_or_told(hub: HubEmulator) -> None:
    data = content(MIB)
    hub.add("owner/repo", {"m-Q8_0.gguf": data})
    hub.answer(429, {"Retry-After": "999"}, path_part="signed")
    assert failure().message == "the Hub limits requests (429); it says to wait 999 s"
    hub.answer(429, {"Retry-After": "0"}, path_part="signed")
    assert pull()[0][0].read_bytes() == data


def test_space_is_checked_before_anything_is_fetched(hub: HubEmulator) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": content(3 * MIB)})
    planned = plan(SOURCE)
    check_space(planned, lambda _path: 80 * MIB)
    with pytest.raises(SpecdecError) as caught:
        check_space(planned, lambda _path: 60 * MIB)
    assert caught.value.code == "file.no_space"
    assert "3.1 MB to download, 62.9 MB free" in caught.value.message
    assert "7.3 MB are missing" in caught.value.message
    pull()
    check_space(plan(SOURCE), lambda _path: 0)  # all here: nothing is needed


def test_a_full_disk_in_the_middle_is_one_line_and_keeps_what_came(
    hub: HubEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from specdec_cli.registry.fetch import HashingWriter

    hub.add("owner/repo", {"m-Q8_0.gguf": content(3 * MIB)})
    really_write = HashingWriter.write

    def full(writer: HashingWriter, chunk: bytes) -> None:
        if writer.position >= 2 * MIB:
            raise OSError(28, "No space left on device")
        really_write(writer, chunk)

    monkeypatch.setattr(HashingWriter, "write", full)
    assert "No space left on device" in failure().message
    assert plan(SOURCE).files[0].bytes_here == 2 * MIB


def test_a_read_only_cache_is_one_line_and_what_is_in_it_serves(
    hub: HubEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": content(MIB)})
    (whole,), _events = pull()
    hub.add("owner/more", {"n-Q8_0.gguf": content(MIB, 1)})

    # The tests may run as root, for whom no folder is read-only.
    def refuse(path: Path, *_arguments: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    for method in ("mkdir", "touch", "replace", "write_text"):
        monkeypatch.setattr(Path, method, refuse)
    error = failure(HubSource("owner/more"))
    assert (error.code, "Permission denied" in error.message) == ("file.unwritable", True)
    assert "HF_HUB_CACHE" in (error.hint or "")
    assert pull()[0] == [whole]


def test_a_file_in_the_caches_place_is_one_line(hub: HubEmulator, tmp_path: Path) -> None:
    hub.add("owner/repo", {"m-Q8_0.gguf": content(MIB)})
    hub_cache_dir().write_text("not a folder")
    assert failure().code == "file.unwritable"
    (tmp_path / "file").write_text("not a folder")
    assert failure(folder=tmp_path / "file" / "models").code == "file.unwritable"


def test_a_plain_folder_gets_plain_files(hub: HubEmulator, tmp_path: Path) -> None:
    data = content(2 * MIB)
    hub.add("owner/repo", {"sub/m-Q8_0.gguf": data})
    folder = tmp_path / "models"
    (path,), _events = pull(folder=folder)
    assert path == folder / "m-Q8_0.gguf"
    assert path.read_bytes() == data
    assert not path.is_symlink()
    assert plan(SOURCE, folder=folder).bytes_missing == 0
    path.write_bytes(data[:-4] + b"oops")  # same size, other content: found out, and replaced
    assert plan(SOURCE, folder=folder).bytes_missing == len(data)
    assert pull(folder=folder)[0][0].read_bytes() == data
    assert not hub_cache_dir().exists()


def test_a_plain_folder_takes_what_the_cache_has(hub: HubEmulator, tmp_path: Path) -> None:
    data = content(2 * MIB)
    hub.add("owner/repo", {"m-Q8_0.gguf": data})
    pull()
    served = hub.bytes_served()
    (path,), _events = pull(folder=tmp_path / "models")
    assert path.read_bytes() == data
    assert hub.bytes_served() == served


def test_without_links_the_file_itself_is_in_the_snapshot(
    hub: HubEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.are_symlinks_supported", lambda *_arguments: False)
    data = content(MIB)
    hub.add("owner/repo", {"m-Q8_0.gguf": data})
    (path,), _events = pull()
    assert not path.is_symlink()
    assert path.read_bytes() == data
    assert plan(SOURCE).bytes_missing == 0
    assert not list((hub_cache_dir() / "models--owner--repo" / "blobs").iterdir())
    assert try_to_load_from_cache("owner/repo", "m-Q8_0.gguf", cache_dir=hub_cache_dir()) == str(path)


def test_what_the_client_fetched_is_found(hub: HubEmulator) -> None:
    from huggingface_hub import hf_hub_download

    data = content(MIB)
    hub.add("owner/repo", {"m-Q8_0.gguf": data})
    theirs = hf_hub_download("owner/repo", "m-Q8_0.gguf", endpoint=hub.endpoint, cache_dir=hub_cache_dir())
    served = hub.bytes_served()
    assert pull()[0] == [Path(theirs)]
    assert hub.bytes_served() == served
