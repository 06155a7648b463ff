"""Text to the system's clipboard: by its own tool, else through the terminal (OSC 52), which works over ssh."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import TextIO

from specdec_cli.errors import SpecdecError

_MOST_THROUGH_TERMINAL = 74_000
"""Bytes; terminals drop longer sequences without a word."""
_SECONDS = 5.0


def copy_text(text: str, terminal: TextIO) -> str:
    """Copy; returns by what. Raises `SpecdecError` where there is no way."""
    data = text.encode("utf-8", "replace")
    for command in _tools():
        if _run(command, data):
            return command[0]
    if terminal.isatty() and len(data) <= _MOST_THROUGH_TERMINAL:
        terminal.write(f"\x1b]52;c;{base64.b64encode(data).decode()}\x07")
        terminal.flush()
        return "the terminal"
    raise SpecdecError("there is no clipboard here", hint="/export md writes the conversation to a file")


def _tools() -> Iterator[list[str]]:
    if os.environ.get("SSH_CONNECTION"):
        return  # the clipboard of this machine is not the user's
    if sys.platform == "darwin":
        yield ["pbcopy"]
    elif sys.platform == "win32":
        yield ["clip"]
    else:
        if os.environ.get("WAYLAND_DISPLAY"):
            yield ["wl-copy"]
        if os.environ.get("DISPLAY"):
            yield ["xclip", "-selection", "clipboard"]
            yield ["xsel", "--clipboard", "--input"]


def _run(command: list[str], data: bytes) -> bool:
    if shutil.which(command[0]) is None:
        return False
    if command[0] == "clip":
        data = data.decode().encode("utf-16")
    try:
        done = subprocess.run(
            command,
            input=data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
