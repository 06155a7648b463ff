"""`pull`: files of the Hub, resumed where they stopped, verified, and only then given their names.

The Hub's client cannot go on with a file after its process ended (each call writes a temporary file of its own
and deletes it), so the bytes are fetched here, through the client's session, addresses, headers and lock:

    lock ─► partial file (kept on any failure) ─► size, SHA-256 ─► its name ─► the client links it into its cache

The partial file lies beside its destination and is named by the file and its etag: a file that changed on the
Hub begins anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from specdec_cli.errors import SpecdecError
from specdec_cli.registry.derive import file_sha256
from specdec_cli.registry.fetch import Fetch, fetch_file
from specdec_cli.registry.folders import cache_dir
from specdec_cli.registry.hub import HubClient
from specdec_cli.registry.hub_cache import repository_folder
from specdec_cli.registry.locks import held_lock
from specdec_cli.registry.records import FetchedFile, remember_fetched
from specdec_cli.registry.remote_files import RemoteFile, RemoteModel

SPACE_RESERVE_BYTES = 64 * 2**20
"""Free space that a download leaves on the disk."""


@dataclass(frozen=True)
class PlannedFile:
    """One file: where it comes from, where it goes, what of it is here."""

    remote: RemoteFile
    blob: Path
    """Where the bytes go: a blob of the Hub's cache, or the file itself in a plain folder."""
    path: Path
    """The file's name for people and for llama.cpp."""
    bytes_here: int
    """Of the partial file; all of them when it is whole."""
    whole: bool

    @property
    def partial(self) -> Path:
        """The file being fetched."""
        return self.blob.with_name(f"{_file_key(self.remote)}{self.remote.etag[:64]}{_PARTIAL_SUFFIX}")

    @property
    def bytes_missing(self) -> int:
        """What has to be fetched."""
        return 0 if self.whole else self.remote.size - self.bytes_here


@dataclass(frozen=True)
class DownloadPlan:
    """What a `pull` will do."""

    models: tuple[RemoteModel, ...]
    files: tuple[PlannedFile, ...]
    hub_cache: Path
    folder: Path
    """The Hub's cache, or the plain folder."""

    @property
    def plain(self) -> bool:
        """Whether the files go into a plain folder."""
        return self.folder != self.hub_cache

    @property
    def bytes_missing(self) -> int:
        """What has to be fetched, all files together."""
        return sum(file.bytes_missing for file in self.files)

    @property
    def bytes_total(self) -> int:
        """Size of all files."""
        return sum(file.remote.size for file in self.files)


@dataclass(frozen=True)
class DownloadEvent:
    """What the progress display hears: bytes of a file that are here now, or a note."""

    file: PlannedFile | None
    bytes_here: int = 0
    note: str | None = None


Report = Callable[[DownloadEvent], None]
_PARTIAL_SUFFIX = ".specdec.incomplete"


def plan_download(models: Sequence[RemoteModel], hub_cache: Path, folder: Path | None = None) -> DownloadPlan:
    """Look at what is here of these models. `folder` is a plain one to use instead of the Hub's cache."""
    files = []
    seen: set[Path] = set()
    for model in models:
        for remote in model.files:
            file = _look(remote, hub_cache, folder or hub_cache)
            if file.path not in seen:
                seen.add(file.path)
                files.append(file)
    return DownloadPlan(tuple(models), tuple(files), hub_cache, folder or hub_cache)


def check_space(plan: DownloadPlan, free_bytes: Callable[[Path], int] | None = None) -> None:
    """Raise `SpecdecError`, with how much is missing, when the files do not fit on the disk."""
    existing = next(path for path in (plan.folder, *plan.folder.absolute().parents) if path.exists())
    free = (free_bytes or (lambda path: shutil.disk_usage(path).free))(existing)
    needed = plan.bytes_missing + (SPACE_RESERVE_BYTES if plan.bytes_missing else 0)
    if needed > free:
        raise SpecdecError(
            f"not enough disk space: {_size(plan.bytes_missing)} to download, {_size(free)} free in {plan.folder}; "
            f"{_size(needed - free)} are missing",
            hint="specdec list shows what could be removed; --dir names another folder",
            code="file.no_space",
        )


def download(plan: DownloadPlan, client: HubClient, report: Report = lambda _event: None) -> tuple[Path, ...]:
    """Fetch what is missing; returns every file's path, in the order of the plan.

    Raises `SpecdecError`. Whatever ends it, also Ctrl-C or a kill, files that were whole stay whole and what
    was received of the others is kept for the next time.
    """
    for file in plan.files:
        report(DownloadEvent(file, file.bytes_here))
    try:
        for file in plan.files:
            if not file.whole:
                _bring(file, plan, client, report)
            elif not plan.plain:
                _link_into_cache(file, plan.folder, client)
            report(DownloadEvent(file, file.remote.size))
    except PermissionError as error:
        place = error.filename or plan.folder
        raise SpecdecError(
            f"cannot write {place}: {error.strerror}",
            hint="--dir or HF_HUB_CACHE names another folder",
            code="file.unwritable",
        ) from None
    except OSError as error:
        raise SpecdecError(
            f"cannot write to {plan.folder}: {error.strerror or error}", code="file.unwritable"
        ) from None
    return tuple(file.path for file in plan.files)


def _bring(file: PlannedFile, plan: DownloadPlan, client: HubClient, report: Report) -> None:
    """One file from the Hub to its name, under the lock that other processes honour."""

    def progress(bytes_here: int) -> None:
        report(DownloadEvent(file, bytes_here))

    def note(text: str) -> None:
        report(DownloadEvent(file, note=text))

    file.blob.parent.mkdir(parents=True, exist_ok=True)
    with held_lock(_lock_path(file, plan), note):
        if not _look(
            file.remote, plan.hub_cache, plan.folder
        ).whole:  # whoever held the lock may have brought it
            _drop_older_partials(file, note)
            if not _copy_from_cache(file, plan):
                fetch_file(Fetch(file.remote, file.partial, progress, note), client)
            file.partial.replace(file.blob)
    if not plan.plain:
        _link_into_cache(file, plan.folder, client)
    remote = file.remote
    fetched = FetchedFile(remote.repo, remote.file, str(file.path.absolute()), remote.size, plan.plain)
    remember_fetched([fetched], cache_dir())


def _copy_from_cache(file: PlannedFile, plan: DownloadPlan) -> bool:
    """Whether the partial file could be made, whole, from the Hub's cache (for a plain folder)."""
    if not plan.plain:
        return False
    cached = _planned_in_cache(file.remote, plan.hub_cache)
    here = next((path for path in (cached.path, cached.blob) if _is_whole(path, file.remote)), None)
    if here is not None:
        shutil.copyfile(here, file.partial)
    return here is not None


# where files go ---------------------------------------------------------------------------------------


def _look(remote: RemoteFile, hub_cache: Path, folder: Path) -> PlannedFile:
    """Where a file belongs, and what of it is there now."""
    return _planned_in_cache(remote, hub_cache) if folder == hub_cache else _planned_in_folder(remote, folder)


def _planned_in_cache(remote: RemoteFile, hub_cache: Path) -> PlannedFile:
    storage = repository_folder(hub_cache, remote.repo)
    path = storage / "snapshots" / remote.commit / remote.file
    blob = storage / "blobs" / remote.etag
    # Where links are not possible the client keeps the file itself in the snapshot, and there is no blob.
    whole = _is_whole(path, remote) or _is_whole(blob, remote)
    return _with_bytes_here(PlannedFile(remote, blob, path, 0, whole))


def _planned_in_folder(remote: RemoteFile, folder: Path) -> PlannedFile:
    path = folder / remote.file.rsplit("/", 1)[-1]
    whole = _is_whole(path, remote) and (
        remote.sha256 is None or file_sha256(path, cache_dir()) == remote.sha256
    )
    return _with_bytes_here(PlannedFile(remote, path, path, 0, whole))


def _with_bytes_here(file: PlannedFile) -> PlannedFile:
    here = file.remote.size if file.whole else _size_of(file.partial)
    return PlannedFile(file.remote, file.blob, file.path, min(here, file.remote.size), file.whole)


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _is_whole(path: Path, remote: RemoteFile) -> bool:
    """Whether the file is there with the size the Hub states; names are only given to verified files."""
    return path.is_file() and path.stat().st_size == remote.size


def _file_key(remote: RemoteFile) -> str:
    return hashlib.sha256(f"{remote.repo}/{remote.file}".encode()).hexdigest()[:8] + "."


def _drop_older_partials(file: PlannedFile, note: Callable[[str], None]) -> None:
    """Delete what was received of an earlier version of the file."""
    for older in file.partial.parent.glob(f"{_file_key(file.remote)}*{_PARTIAL_SUFFIX}"):
        if older != file.partial:
            older.unlink(missing_ok=True)
            note(f"{file.remote.file} has changed on the Hub meanwhile: starting again")


def _link_into_cache(file: PlannedFile, hub_cache: Path, client: HubClient) -> None:
    """Make the blob visible under its name in the Hub's cache, and let `main` point to its commit."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.file_download import are_symlinks_supported

    if not _is_whole(file.path, file.remote):
        with warnings.catch_warnings(action="ignore"):  # what it means for a cache, at length
            links = are_symlinks_supported(hub_cache)
        if links:
            file.path.unlink(missing_ok=True)
            # The blob is there, so that this only makes the link, in the client's own way.
            client.asking(
                file.remote.repo,
                lambda: hf_hub_download(
                    file.remote.repo,
                    file.remote.file,
                    revision=file.remote.commit,
                    cache_dir=hub_cache,
                    endpoint=client.endpoint,
                ),
            )
        else:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            file.blob.replace(file.path)
    reference = repository_folder(hub_cache, file.remote.repo) / "refs" / "main"
    with contextlib.suppress(OSError):  # A cache that cannot be written still holds the file.
        if not reference.is_file() or reference.read_text(encoding="utf-8").strip() != file.remote.commit:
            reference.parent.mkdir(parents=True, exist_ok=True)
            reference.write_text(file.remote.commit, encoding="utf-8")


def _lock_path(file: PlannedFile, plan: DownloadPlan) -> Path:
    if plan.plain:
        key = hashlib.sha256(str(file.blob.resolve()).encode()).hexdigest()[:24]
        return cache_dir() / "locks" / f"{key}.lock"
    # The client's own lock of this blob: other tools wait for us and we for them.
    folder = repository_folder(plan.folder, file.remote.repo).name
    return plan.folder / ".locks" / folder / f"{file.remote.etag}.lock"


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
