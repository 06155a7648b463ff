"""Rounds in a file: one JSON object per line, so that what a policy could have done can be computed later."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from specdec_cli.bench.values import RoundRecord, Sample
from specdec_cli.errors import SpecdecError


@dataclass(frozen=True)
class Recording:
    """All rounds of one answer."""

    task: str
    prompt: int
    variant: str
    rounds: tuple[RoundRecord, ...]


def recordings(samples: Iterable[Sample]) -> list[Recording]:
    """The rounds of every sample."""
    return [Recording(sample.task, sample.prompt, sample.variant, sample.rounds) for sample in samples]


def write_rounds(stream: TextIO, recorded: Iterable[Recording]) -> None:
    """Each round a line: which answer it belongs to, its index in it, and its numbers (seconds, tokens)."""
    for recording in recorded:
        answer = {"task": recording.task, "prompt": recording.prompt, "variant": recording.variant}
        for index, record in enumerate(recording.rounds):
            stream.write(json.dumps({**answer, "round": index, **asdict(record)}) + "\n")


def read_rounds(path: Path) -> list[Recording]:
    """The inverse of `write_rounds`. Raises `SpecdecError` naming the line that cannot be understood."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecdecError(f"{path} cannot be read: {error}") from error
    return list(_group(path, lines))


def _group(path: Path, lines: list[str]) -> Iterator[Recording]:
    key: tuple[str, int, str] | None = None
    rounds: list[RoundRecord] = []
    for number, line in enumerate(lines, start=1):
        try:
            fields = json.loads(line)
            this = (str(fields.pop("task")), int(fields.pop("prompt")), str(fields.pop("variant")))
            first = fields.pop("round") == 0
            record = RoundRecord(**fields)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SpecdecError(f"{path}:{number}: this is not a recorded round") from error
        if key is not None and (first or this != key):
            yield Recording(*key, tuple(rounds))
            rounds = []
        key = this
        rounds.append(record)
    if key is not None:
        yield Recording(*key, tuple(rounds))
