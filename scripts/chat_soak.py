"""A long chat with a real pair: is memory flat, do the caches hold what they must, how long is reading a turn?

    python scripts/chat_soak.py [--turns 60] [--tokens 24] [--pair demo] [chat options …]

Prints resident memory every ten turns, its growth after turn ten, and the seconds until an answer began early
and late in the chat. Ends with 1 when memory grew by more than 5 % or an invariant did not hold.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from specdec_cli.chat.chat import Chat
from specdec_cli.cli.environment import Environment
from specdec_cli.cli.main import main

_SUBJECTS = (
    "rivers",
    "prime numbers",
    "a red door",
    "the moon",
    "bread",
    "chess",
    "rain",
    "copper",
    "owls",
    "maps",
)


class Typist:
    """Standard input that notes the memory before each line."""

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self.resident: list[int] = []

    def isatty(self) -> bool:
        """Nobody sits there."""
        return False

    def readline(self) -> bytes:
        """The next question; memory is noted when it is asked."""
        turn = len(self.resident)
        self.resident.append(psutil.Process().memory_info().rss)
        if turn >= self._turns:
            return b""
        return f"Tell me one thing about {_SUBJECTS[turn % len(_SUBJECTS)]}, number {turn}.\n".encode()


def run() -> int:
    """Chat for so many turns and print what memory did."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--pair", default="demo")
    arguments, more = parser.parse_known_args()
    reading: list[tuple[int, float]] = []
    take = Chat._take

    def checking(chat: Chat, *answer: Any) -> None:
        session = chat.require_loaded().engine.session
        session.check()
        take(chat, *answer)
        figures = chat.conversation.turns[-1].figures
        reading.append((figures.prompt_tokens, figures.prompt_seconds))

    Chat._take = checking  # type: ignore[method-assign]
    typist = Typist(arguments.turns)
    with tempfile.TemporaryDirectory() as state, Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        os.environ["SPECDEC_STATE"] = state
        code = main(
            [
                "chat",
                "--pair",
                arguments.pair,
                "-n",
                str(arguments.tokens),
                "--when-full",
                "drop",
                "-q",
                *more,
            ],
            Environment(stdin=typist, stdout=nowhere),  # type: ignore[arg-type]
        )
    for turn in range(0, len(typist.resident), 10):
        print(f"turn {turn:3}: {typist.resident[turn] / 2**20:.1f} MiB resident")
    settled = typist.resident[10:]
    growth = (max(settled) - min(settled)) / min(settled)
    print(f"spread after turn 10: {growth:.1%}")
    for name, part in (("turns 1-5", reading[1:6]), ("last five", reading[-5:])):
        seconds = sorted(seconds for _, seconds in part)[len(part) // 2]
        print(f"{name}: {seconds:.2f} s until the answer begins, of {part[-1][0]} tokens of prompt")
    return code or int(growth > 0.05)


if __name__ == "__main__":
    sys.exit(run())
