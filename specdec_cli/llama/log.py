"""llama.cpp's log lines: sent to our logger (silent unless asked), and kept to explain failures."""

from __future__ import annotations

import ctypes
import logging
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

logger = logging.getLogger("specdec.llama")
logger.addHandler(logging.NullHandler())

# As ggml.h numbers them (the comment in llama-cpp-python is out of date).
_LEVELS = {1: logging.DEBUG, 2: logging.INFO, 3: logging.WARNING, 4: logging.ERROR}
_CONTINUATION = 5

_capturing: list[deque[tuple[int, str]]] = []
_pending: list[str] = []
_pending_level = logging.DEBUG
_callback: Any = None


def install_log_callback(module: Any) -> None:
    """Route llama.cpp's and ggml's log to `logger`. The callback object lives as long as the process."""
    global _callback
    _callback = module.llama_log_callback(_receive)
    module.llama_log_set(_callback, ctypes.c_void_p(0))


def _receive(level: int, text: bytes, _user_data: Any) -> None:
    """One native log call: lines may arrive in parts, and a part may continue the one before."""
    global _pending_level
    if level != _CONTINUATION:
        _flush()
        _pending_level = _LEVELS.get(level, logging.DEBUG)
    _pending.append(text.decode("utf-8", "replace"))
    if _pending[-1].endswith("\n"):
        _flush()


def _flush() -> None:
    line = "".join(_pending).rstrip()
    _pending.clear()
    if not line:
        return
    for lines in _capturing:
        lines.append((_pending_level, line))
    logger.log(_pending_level, "%s", line)


@contextmanager
def captured_log(keep: int = 400) -> Iterator[deque[tuple[int, str]]]:
    """The (level, line) pairs that llama.cpp says inside the block, the last `keep` of them."""
    lines: deque[tuple[int, str]] = deque(maxlen=keep)
    _capturing.append(lines)
    try:
        yield lines
    finally:
        _flush()
        _capturing[:] = [other for other in _capturing if other is not lines]


def native_reason(lines: deque[tuple[int, str]]) -> str:
    """The first error llama.cpp gave, else its last warning, without the function name it starts with."""
    errors = [line for level, line in lines if level >= logging.ERROR]
    warnings = [line for level, line in lines if level == logging.WARNING]
    chosen = errors[0] if errors else warnings[-1] if warnings else "no reason given"
    head, separator, rest = chosen.partition(": ")
    return rest if separator and " " not in head and rest else chosen
