"""While an answer is drawn, typing is not echoed into it; what was typed waits for the next prompt."""

from __future__ import annotations

import contextlib
from collections.abc import Callable


def without_echo(descriptor: int) -> Callable[[], None]:
    """Switch echo off; call the result to switch it on again. Does nothing where there is no such switch."""
    try:
        import termios
    except ImportError:  # Windows
        return lambda: None
    try:
        before = termios.tcgetattr(descriptor)
        quiet = [*before]
        quiet[3] = before[3] & ~termios.ECHO
        termios.tcsetattr(descriptor, termios.TCSANOW, quiet)
    except (OSError, termios.error):
        return lambda: None

    def restore() -> None:
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(descriptor, termios.TCSANOW, before)

    return restore
