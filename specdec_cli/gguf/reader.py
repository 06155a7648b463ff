"""The two ways in: `read_header` for a local model, `parse_header` for bytes that lie anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from specdec_cli.gguf.check_model import check_model
from specdec_cli.gguf.header import ModelHeader, ShardInfo, TensorInfo
from specdec_cli.gguf.metadata import Metadata
from specdec_cli.gguf.parse_metadata import RawValue, parse_metadata
from specdec_cli.gguf.parse_tensors import padded, parse_tensors
from specdec_cli.gguf.parse_vocabulary import parse_vocabulary
from specdec_cli.gguf.problems import HeaderProblem
from specdec_cli.gguf.recognise import what_it_is
from specdec_cli.gguf.shards import join_shards, missing_shards, shard_names, split_of
from specdec_cli.gguf.source import ByteSource, FileSource, Window

__all__ = ["ByteSource", "HeaderProblem", "parse_header", "read_header"]

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
MAX_ALIGNMENT = 1 << 20
"""Far above any in use (32, sometimes 4096)."""


def read_header(path: Path) -> ModelHeader:
    """The header of a local model. Given any shard of several, all of them are found, checked and joined.

    Raises `HeaderProblem`, whose code says what is wrong with which file.
    """
    header = _read_file(path)
    if split_of(header) is None:
        return header
    names = shard_names(header, path.name)
    paths = [path.with_name(name) for name in names]
    missing = [shard.name for shard in paths if not shard.exists()]
    if missing:
        raise missing_shards(str(path), missing, len(names))
    return join_shards([header if shard.name == path.name else _read_file(shard) for shard in paths])


def _read_file(path: Path) -> ModelHeader:
    with FileSource(path) as source:
        return parse_header(source, str(path))


def parse_header(source: ByteSource, name: str) -> ModelHeader:
    """The header of the one file behind `source`; `name` is its path or URL, for people.

    Reads front to back and no further than the header and `source.STEP_BYTES` beyond it (and, where the file is
    longer than the header says, 8 bytes there). For one shard of several (`shards.split_of`) the result is that
    shard's part: `shards.join_shards` makes the model of all of them.

    Raises `HeaderProblem`; what the source itself raises passes through.
    """
    window = Window(source, name)
    version = _parse_version(window)
    n_tensors, n_keys = window.u64(), window.u64()
    metadata = Metadata(values := parse_metadata(window, n_keys))
    alignment = _alignment(window, values)
    tensors = parse_tensors(window, n_tensors, alignment)
    header_bytes = window.position
    data_offset = padded(header_bytes, alignment) if tensors else header_bytes
    trailing_bytes = _check_end(window, source, data_offset, tensors, alignment)
    header = ModelHeader(
        source=name,
        version=version,
        metadata=metadata,
        tensors=tensors,
        vocabulary=parse_vocabulary(window, metadata),
        header_bytes=header_bytes,
        file_bytes=window.size,
        shards=(ShardInfo(name, header_bytes, data_offset, window.size, len(tensors)),),
        trailing_bytes=trailing_bytes,
    )
    _check_is_model(window, header)
    check_model(header)
    return header


def _parse_version(window: Window) -> int:
    start = window.peek()
    if not start:
        window.refuse("the file is empty", code="file.empty", hint="the download failed: fetch it again")
    if not start.startswith(MAGIC[: len(start)]):
        kind, hint = what_it_is(start)
        window.refuse(f"not a GGUF file: {kind}", code="file.not_gguf", hint=hint)
    window.take(len(MAGIC))
    version = window.u32()
    if version not in VERSIONS:
        _refuse_version(window, version)
    return version


def _refuse_version(window: Window, version: int) -> NoReturn:
    if version and not version & 0xFFFF:
        window.refuse(
            "a GGUF file for big-endian machines",
            code="file.big_endian",
            hint="download the ordinary little-endian file of this model",
        )
    old = version < min(VERSIONS)
    window.refuse(
        f"GGUF version {version} is not supported (2 and 3 are)",
        code="file.version",
        hint="download a newer file of this model" if old else "a newer specdec may read it",
    )


def _alignment(window: Window, values: dict[str, RawValue]) -> int:
    value = values.get("general.alignment", DEFAULT_ALIGNMENT)
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or not 0 < value <= MAX_ALIGNMENT
        or value & (value - 1)
    ):
        window.refuse("general.alignment is not a power of two", code="file.damaged")
    return value


def _check_end(
    window: Window, source: ByteSource, data_offset: int, tensors: tuple[TensorInfo, ...], alignment: int
) -> int:
    """Refuse a file that ends before its data, or is followed by another one; return how many bytes follow it."""
    size = window.size
    if size is None:
        return 0
    data_bytes = tensors[-1].offset + tensors[-1].n_bytes if tensors else 0
    data_end = data_offset + data_bytes
    if size < data_end:
        there = max(0, size - data_offset)
        window.refuse(
            f"the file is cut short: {there:,} of {data_bytes:,} bytes of tensor data are there",
            code="file.truncated",
            hint="the download is incomplete: fetch it again, or join its parts if it came in raw parts",
        )
    padded_end = padded(data_end, alignment)
    for end in (data_end, padded_end):
        if size > end and source.read(end, len(MAGIC)) == MAGIC:
            window.refuse(
                f"another GGUF file begins inside it, after {end:,} bytes: files joined with `cat`",
                code="file.glued",
                hint="keep the parts of a split model as separate files and name the first one",
            )
    return max(0, size - padded_end)


def _check_is_model(window: Window, header: ModelHeader) -> None:
    if header.architecture:
        return
    split = split_of(header)
    if split is None or split.number == 0:
        kind = f" (it is of type {header.kind})" if header.kind else ""
        window.refuse(f"not a model: no general.architecture{kind}", code="file.not_model")
