"""The Hub through its own client: sessions, addresses, headers, tokens and errors are the client's.

The only module that imports `huggingface_hub`'s request functions. Where the Hub is (`HF_ENDPOINT`), who asks
(`HF_TOKEN` or a stored login) and whether anything may be asked (`HF_HUB_OFFLINE`) is read when a `HubClient` is
made. No Xet: plain range requests are what can be resumed after a killed process.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from huggingface_hub import HfApi, get_hf_file_metadata, hf_hub_url
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, OfflineModeIsEnabled
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    build_hf_headers,
    hf_raise_for_status,
    http_stream_backoff,
)

from specdec_cli import __version__
from specdec_cli.errors import SpecdecError
from specdec_cli.registry.choose import choose_file, is_model_file, quants_of, shard_names
from specdec_cli.registry.hub_errors import not_the_hub, rate_limited, translate
from specdec_cli.registry.remote_files import RemoteFile, RemoteModel, hub_endpoint, is_offline
from specdec_cli.registry.sources import HubSource

ATTEMPTS = 3
LONGEST_WAIT_SECONDS = 60.0
"""A 429 that asks for more than this is told to the user instead of waited for."""
_PASSING_TROUBLE = (502, 503, 504)


@dataclass(frozen=True)
class HubClient:
    """Questions to one Hub. `note` hears of waiting and retrying."""

    endpoint: str = field(default_factory=hub_endpoint)
    offline: bool = field(default_factory=is_offline)
    note: Callable[[str], None] = lambda _text: None
    suggest_ungated: Callable[[str], str | None] = lambda _repo: None
    """An ungated repository of the same model, for the hint of a gated one."""

    def locate(self, source: HubSource) -> RemoteModel:
        """Find the file that `source` means and all its parts. Raises `SpecdecError` for whatever prevents it."""
        file, revision = source.file, "main"
        if file is None:
            file, revision = self._choose(source)
        files: list[RemoteFile] = []
        for name in shard_names(file):
            files.append(self.describe(source.repo, name, files[0].commit if files else revision))
        return RemoteModel(source, tuple(files))

    def describe(self, repo: str, file: str, revision: str) -> RemoteFile:
        """Size, etag, commit and address of one file."""
        if ".." in file.split("/"):
            raise SpecdecError(f"{file!r} is no file name", code="file.not_in_repository")
        url = hf_hub_url(repo, file, revision=revision, endpoint=self.endpoint)
        try:
            found = self.asking(
                repo, lambda: get_hf_file_metadata(url, endpoint=self.endpoint, **_who_asks())
            )
        except EntryNotFoundError:
            raise self._not_in_repository(repo, file) from None
        if found.size is None or not _is_plain(found.commit_hash) or not _is_plain(found.etag):
            raise not_the_hub(self.endpoint)
        return RemoteFile(repo, file, found.commit_hash, found.etag, found.size, found.location)

    def list_files(self, repo: str) -> tuple[str, tuple[str, ...]]:
        """(Commit of `main`, names of its files in alphabetical order)."""
        api = HfApi(endpoint=self.endpoint, **_who_asks())
        info = self.asking(repo, lambda: api.model_info(repo, timeout=10))
        if not info.sha:
            raise not_the_hub(self.endpoint)
        return info.sha, tuple(sorted(sibling.rfilename for sibling in info.siblings or ()))

    @contextlib.contextmanager
    def open(self, file: RemoteFile, start: int, stop: int | None = None) -> Iterator[Any]:
        """A streaming response of the client for the bytes [start, stop) of a file.

        Status 206, 200 from a server that ignores ranges, or 416 for a start behind the end. Short 429s are
        waited for. What goes wrong while the body is read is the caller's (`TRANSPORT_ERRORS`).
        """
        headers = build_hf_headers(**_who_asks())
        headers["Accept-Encoding"] = "identity"
        if urlsplit(file.location).netloc != urlsplit(self.endpoint).netloc:
            # The login is the Hub's; the address of the bytes is signed and belongs to someone else.
            headers.pop("authorization", None)
        if start or stop is not None:
            headers["Range"] = f"bytes={start}-{'' if stop is None else stop - 1}"
        with contextlib.ExitStack() as opened:

            def ask() -> Any:
                opened.pop_all().close()
                stream = http_stream_backoff(
                    "GET",
                    file.location,
                    headers=headers,
                    timeout=download_timeout(),
                    retry_on_exceptions=(),
                    retry_on_status_codes=(),
                )
                response = opened.enter_context(stream)
                if response.status_code != 416:
                    hf_raise_for_status(response)
                return response

            yield self.asking(file.repo, ask)

    # asking and waiting -------------------------------------------------------------------------------

    def asking(self, repo: str, ask: Callable[[], Any]) -> Any:
        """The answer to a question, after short waits where the Hub asks for them.

        Whatever prevents it is a `SpecdecError`, except that a file is not there (`EntryNotFoundError`).
        """
        try:
            if self.offline:
                raise OfflineModeIsEnabled("offline")
            for attempt in range(1, ATTEMPTS):
                try:
                    return ask()
                except HfHubHTTPError as error:
                    self._wait_or_raise(error, attempt)
            return ask()
        except EntryNotFoundError:
            raise
        except Exception as error:
            translated = translate(error, repo, self.endpoint, self.suggest_ungated)
            if translated is None:
                raise
            raise translated from None

    def _wait_or_raise(self, error: HfHubHTTPError, attempt: int) -> None:
        """Wait where another attempt may help; otherwise raise."""
        status = error.response.status_code
        if status == 429:
            seconds = _retry_after(error.response)
            if seconds is None or seconds > LONGEST_WAIT_SECONDS:
                raise rate_limited(seconds)
            self.note(f"the Hub limits requests; waiting {seconds:.0f} s")
        elif status in _PASSING_TROUBLE:
            seconds = float(attempt)
            self.note(f"the Hub answered {status}; asking again in {seconds:.0f} s")
        else:
            raise error
        time.sleep(seconds)

    # choosing -----------------------------------------------------------------------------------------

    def _choose(self, source: HubSource) -> tuple[str, str]:
        """(Name of the first file, commit) that a reference without a file name means."""
        commit, names = self.list_files(source.repo)
        chosen = choose_file(names, source.quant)
        if chosen is not None:
            return chosen, commit
        quants = quants_of(names)
        if not quants:
            raise SpecdecError(
                f"{source.repo} holds no GGUF model",
                hint="look for a repository whose name ends in -GGUF",
                code="file.not_in_repository",
            )
        raise SpecdecError(
            f"{source.repo} has no file quantized as {source.quant}",
            hint=f"it has {', '.join(quants)}",
            code="file.not_in_repository",
        )

    def _not_in_repository(self, repo: str, file: str) -> SpecdecError:
        """The error for a missing file; the hint names the model files that are there."""
        hint = None
        with contextlib.suppress(SpecdecError):
            models = [name for name in self.list_files(repo)[1] if is_model_file(name)]
            shown = ", ".join(models[:8]) + (f" and {len(models) - 8} more" if len(models) > 8 else "")
            hint = f"it has {shown}" if models else "it holds no GGUF model"
        return SpecdecError(f"{repo} has no file {file}", hint=hint, code="file.not_in_repository")


def download_timeout() -> float:
    """Seconds without a byte after which a connection counts as broken, as `HF_HUB_DOWNLOAD_TIMEOUT` says."""
    with contextlib.suppress(ValueError):
        return float(os.environ.get("HF_HUB_DOWNLOAD_TIMEOUT") or 10)
    return 10.0


def _who_asks() -> dict[str, Any]:
    return {"library_name": "specdec", "library_version": __version__}


def _is_plain(name: str | None) -> bool:
    """Whether a commit or an etag can be part of a file name: they come from outside."""
    return name is not None and re.fullmatch(r"[A-Za-z0-9_-]+", name) is not None


def _retry_after(response: Any) -> float | None:
    """Seconds that a 429 asks to wait: `Retry-After`, or the reset time of `RateLimit`."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isdigit():
        return float(value)
    found = re.search(r"r=0\s*;\s*t=(\d+)", response.headers.get("RateLimit", "").replace(" ", ""))
    return float(found[1]) if found else None
