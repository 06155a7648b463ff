"""What a command may touch of the world around it, as one object: tests hand in another one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, BinaryIO, TextIO

if TYPE_CHECKING:  # numpy has no place in `specdec --help`
    from specdec_cli.protocols import Backend


def _llama_backend() -> Backend:
    from specdec_cli.llama.backend import LlamaBackend

    return LlamaBackend()


@dataclass
class Environment:
    """Streams, environment variables, and the door to the native engine."""

    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)
    stdin: BinaryIO = field(default_factory=lambda: sys.stdin.buffer)
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)
    open_backend: Callable[[], Backend] = _llama_backend
    """Called once by a command that needs the native engine."""
    clock: Callable[[], float] = perf_counter
    """Seconds, for whatever measures."""
    offline: bool = False
    """Whether `--offline` forbids the network; the Hub's own variables may forbid it too."""

    @property
    def stdin_is_terminal(self) -> bool:
        """Whether a person sits at standard input."""
        return self.stdin.isatty()
