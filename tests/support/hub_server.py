"""The two HTTP servers of the emulated Hub and what they answer; `tests.support.hub` is the door."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.support.hub_values import (
    GOOD_TOKEN,
    HTML,
    Answer,
    Behaviour,
    HubFile,
    Repository,
    Request,
)

_PIECE = 64 * 1024


class Emulator(Protocol):
    """What the handlers need to know; `HubEmulator` is it."""

    repositories: dict[str, Repository]
    requests: list[Request]
    cdn_behaviour: Behaviour
    page_size: int
    silent: bool
    closed: threading.Event
    endpoint: str
    cdn: str

    def take_answer(self, method: str, path: str) -> Answer | None: ...
    def take_cut(self) -> int | None: ...
    def by_digest(self, digest: str) -> HubFile | None: ...


class Server(ThreadingHTTPServer):
    """Serves on threads, and can be gone at once."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, *arguments: Any) -> None:
        self.connections: set[socket.socket] = set()
        super().__init__(*arguments)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what tests are about, not an error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def stop(self) -> None:
        """Take no more, and cut what is open."""
        self.shutdown()
        self.server_close()
        for connection in tuple(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def start_server(emulator: Emulator, host: str) -> Server:
    """Serve as "hub" or as "cdn" on a port of its own until stopped."""
    handler = type("Handler", (_Handler,), {"emulator": emulator, "host": host})
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), name=f"emulated-{host}", daemon=True).start()
    return server


class _Handler(BaseHTTPRequestHandler):
    emulator: Emulator
    host: str
    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 30

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def do_GET(self) -> None:
        self._handle()

    def do_HEAD(self) -> None:
        self._handle()

    def log_message(self, format: str, *arguments: object) -> None:
        """Silence: `requests` is the log."""

    def _handle(self) -> None:
        self.record = Request(
            self.host, self.command, self.path, {key.lower(): value for key, value in self.headers.items()}
        )
        self.emulator.requests.append(self.record)
        if self.emulator.silent:
            self.emulator.closed.wait()
            self.close_connection = True
            return None
        canned = self.emulator.take_answer(self.command, self.path)
        if canned is not None:
            return self._send(canned.status, canned.headers, canned.body)
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        if self.host == "cdn":
            return self._send_file(path.rsplit("/", 1)[-1])
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/([^/]+)", path):
            return self._send_tree(match[1], match[2], parse_qs(parts.query))
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/([^/]+))?", path):
            return self._send_info(match[1], match[2] or "main")
        if match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self._send_resolve(match[1], match[2], match[3])
        return self._send(404, {}, b"")

    # the API ------------------------------------------------------------------------------------------

    def _open(self, repo: str, revision: str) -> tuple[str, dict[str, HubFile]] | None:
        """The commit and files asked for; None after an answer that says why not."""
        repository = self.emulator.repositories.get(repo)
        token = self.headers.get("Authorization")
        if repository is None:
            # Without a login the real Hub does not tell a missing repository from a private one.
            self._refuse(401 if token is None else 404, "RepoNotFound", "Repository not found")
            return None
        found = repository.files_at(revision)
        if found is None:
            self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return found

    def _gate(self, repo: str) -> bool:
        """Whether access is refused, after the answer that says so. Listing a gated repository is allowed."""
        if not self.emulator.repositories[repo].gated:
            return False
        token = self.headers.get("Authorization")
        if token == f"Bearer {GOOD_TOKEN}":
            return False
        message = f"Access to model {repo} is restricted. "
        if token is None:
            self._refuse(401, "GatedRepo", message + "You must have access to it and be authenticated.")
        else:
            self._refuse(403, "GatedRepo", message + "You are not in the authorized list.")
        return True

    def _refuse(self, status: int, code: str, message: str) -> None:
        self._send(status, {"X-Error-Code": code, "X-Error-Message": message}, message.encode())

    def _send_info(self, repo: str, revision: str) -> None:
        if found := self._open(repo, revision):
            commit, files = found
            gated = "manual" if self.emulator.repositories[repo].gated else False
            siblings = [{"rfilename": name} for name in sorted(files)]
            document = {"id": repo, "sha": commit, "gated": gated, "private": False, "siblings": siblings}
            self._send_json(document, {})

    def _send_tree(self, repo: str, revision: str, query: dict[str, list[str]]) -> None:
        if found := self._open(repo, revision):
            commit, files = found
            start, size = int(query.get("cursor", ["0"])[0]), self.emulator.page_size
            names = sorted(files)
            entries = [_tree_entry(name, files[name]) for name in names[start : start + size]]
            headers = {"X-Repo-Commit": commit}
            if start + size < len(names):
                url = f"{self.emulator.endpoint}/api/models/{repo}/tree/{revision}"
                headers["Link"] = f'<{url}?recursive=true&cursor={start + size}>; rel="next"'
            self._send_json(entries, headers)

    def _send_resolve(self, repo: str, revision: str, name: str) -> None:
        found = self._open(repo, revision)
        if found is None or self._gate(repo):
            return
        commit, files = found
        file = files.get(name)
        if file is None:
            message = "Entry not found"
            headers = {"X-Error-Code": "EntryNotFound", "X-Error-Message": message, "X-Repo-Commit": commit}
            self._send(404, headers, message.encode())
            return
        headers = {
            "X-Repo-Commit": commit,
            "X-Linked-Size": str(file.size),
            "X-Linked-Etag": f'"{file.sha256}"',
            "ETag": f'"{file.sha256}"',
            "Accept-Ranges": "bytes",
            "Location": f"{self.emulator.cdn}/{quote(repo)}/signed/{file.sha256}",
        }
        self._send(302, headers, b"Found. Redirecting")

    # the CDN ------------------------------------------------------------------------------------------

    def _send_file(self, digest: str) -> None:
        behaviour = self.emulator.cdn_behaviour
        file = self.emulator.by_digest(digest)
        if file is None:
            return self._send(404, {}, b"")
        if behaviour.html:
            return self._send(200, {"Content-Type": "text/html"}, HTML)
        size = file.size - behaviour.shorten
        headers = {"ETag": f'"{digest}"', "Content-Type": "application/octet-stream"}
        start, end, status = 0, size, 200
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not behaviour.ignore_ranges:
            headers["Accept-Ranges"] = "bytes"
            if asked:
                start, end = int(asked[1]), min(size, int(asked[2]) + 1 if asked[2] else size)
                status = 206
                if start >= size:
                    return self._send(416, {"Content-Range": f"bytes */{size}"}, b"")
                headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        if self.command == "GET":
            self._send_body(file, start, end)
        return None

    def _send_body(self, file: HubFile, start: int, end: int) -> None:
        behaviour, cut = self.emulator.cdn_behaviour, self.emulator.take_cut()
        stop = end if cut is None else min(end, start + cut)
        with file.path.open("rb") as content:
            if behaviour.bytes_per_second is None and not behaviour.corrupt:
                self.wfile.flush()
                content.seek(start)
                self.record.body_bytes += self.connection.sendfile(content, start, stop - start)
            else:
                self._send_in_pieces(content, start, stop, file.size // 2)
        if stop < end:
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

    def _send_in_pieces(self, content: Any, start: int, stop: int, spoiled: int) -> None:
        behaviour = self.emulator.cdn_behaviour
        content.seek(start)
        position = start
        while position < stop:
            piece = bytearray(content.read(min(_PIECE, stop - position)))
            if behaviour.corrupt and position <= spoiled < position + len(piece):
                piece[spoiled - position] ^= 0xFF
            self.wfile.write(piece)
            self.record.body_bytes += len(piece)
            position += len(piece)
            if behaviour.bytes_per_second:
                time.sleep(len(piece) / behaviour.bytes_per_second)

    # sending ------------------------------------------------------------------------------------------

    def _send_json(self, document: object, headers: Mapping[str, str]) -> None:
        self._send(200, {"Content-Type": "application/json", **headers}, json.dumps(document).encode())

    def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _tree_entry(name: str, file: HubFile) -> dict[str, object]:
    lfs = {"oid": file.sha256, "size": file.size, "pointerSize": 135}
    return {"type": "file", "path": name, "size": file.size, "oid": file.sha256[:40], "lfs": lfs}
