"""Ctrl-C as a wish, not an exception: the engine stops between two rounds; a second one breaks off at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether the user has asked to stop. Call it to know."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        """True once Ctrl-C was pressed."""
        return self.asked

    def ask(self, _signal: int, _frame: FrameType | None) -> None:
        """Signal handler: the first time note the wish, the second time stop whatever runs."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def listening_for_interrupt() -> Iterator[Interruption]:
    """Inside the block Ctrl-C sets the flag; afterwards it does what it did before."""
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption  # Python delivers signals to the main thread only
        return
    before = signal.signal(signal.SIGINT, interruption.ask)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, before)
