"""Models in several files: which files belong together, and the one header they make."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from specdec_cli.gguf.check_model import check_model
from specdec_cli.gguf.header import ModelHeader
from specdec_cli.gguf.problems import HeaderProblem, printable

SHARD_NAME = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.DOTALL)
"""The one pattern by which llama.cpp finds the other files."""
MAX_SHARDS = 65_535
NAMES_SHOWN = 3


@dataclass(frozen=True)
class Split:
    """What a shard says of itself."""

    number: int
    """From 0."""
    count: int
    n_tensors: int | None
    """Tensors in all shards together, when stated."""


def split_of(header: ModelHeader) -> Split | None:
    """What `split.*` says; None for a model in one file."""
    count = header.integer("split.count")
    if count is None or count < 2:
        return None
    number = header.integer("split.no")
    if number is None or not 0 <= number < count <= MAX_SHARDS:
        message = f"claims to be part {number} of {count:,}, counted from 0"
        raise HeaderProblem(header.source, message, code="file.damaged")
    return Split(number, count, header.integer("split.tensors.count"))


def shard_names(header: ModelHeader, file_name: str) -> tuple[str, ...]:
    """File names of all shards, first to last, from one shard's header and file name.

    Raises `HeaderProblem` when the name is not the one that llama.cpp needs to find the others.
    """
    split = split_of(header)
    if split is None:
        return (file_name,)
    match = SHARD_NAME.fullmatch(file_name)
    ending = f"-{split.number + 1:05d}-of-{split.count:05d}.gguf"
    if match is None or not file_name.endswith(ending):
        raise HeaderProblem(
            header.source,
            f"is part {split.number + 1} of {split.count} of a model, but its name does not say so",
            code="file.shard_name",
            hint=f"give every part its original name; this one's ends in {ending}",
        )
    return tuple(f"{match['stem']}-{n:05d}-of-{split.count:05d}.gguf" for n in range(1, split.count + 1))


def missing_shards(source: str, missing: Sequence[str], count: int) -> HeaderProblem:
    """The problem that names the shards that are not there."""
    names = ", ".join(printable(name, 200) for name in missing[:NAMES_SHOWN])
    more = f" and {len(missing) - NAMES_SHOWN} more" if len(missing) > NAMES_SHOWN else ""
    return HeaderProblem(
        source,
        f"one of {count} parts of a model; missing: {names}{more}",
        code="file.shard_missing",
        hint="download all parts into one directory",
    )


def join_shards(headers: Sequence[ModelHeader]) -> ModelHeader:
    """The model that all shards make, first to last: metadata and vocabulary of the first, tensors of all.

    Raises `HeaderProblem` when they do not belong together.
    """
    first = headers[0]
    split = split_of(first)
    for number, header in enumerate(headers):
        own = split_of(header)
        if split is None or own is None or own.count != len(headers) or own.number != number:
            stated = "a model in one file" if own is None else f"part {own.number + 1} of {own.count}"
            message = f"says that it is {stated}, not part {number + 1} of {len(headers)}"
            raise HeaderProblem(header.source, message, code="file.shard_mismatch")
    tensors = tuple(replace(t, shard=n) for n, header in enumerate(headers) for t in header.tensors)
    n_names = len({tensor.name for tensor in tensors})
    stated_tensors = None if split is None else split.n_tensors
    if n_names != len(tensors) or stated_tensors not in (None, len(tensors)):
        raise HeaderProblem(
            first.source,
            f"its {len(headers)} parts hold {n_names:,} different tensors where the model has "
            f"{stated_tensors or len(tensors):,}: they are of different models or versions",
            code="file.shard_mismatch",
            hint="download all parts again from one place",
        )
    sizes = [header.file_bytes for header in headers]
    model = replace(
        first,
        tensors=tensors,
        header_bytes=sum(header.header_bytes for header in headers),
        file_bytes=None if None in sizes else sum(size for size in sizes if size is not None),
        shards=tuple(shard for header in headers for shard in header.shards),
        trailing_bytes=sum(header.trailing_bytes for header in headers),
    )
    check_model(model)
    return model
