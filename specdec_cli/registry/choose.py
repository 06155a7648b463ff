"""Which file of a repository is the model, and which files belong to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

COMPANIONS = ("mmproj", "imatrix", "mtp-", "eagle3-", "dflash-", "dspark-")
"""Parts of names of files that go with a model but are none: projectors, calibration data, draft heads."""

PREFERRED = ("Q4_K_M", "Q8_0")
"""What is tried, in this order, when nobody says which quantization."""

_SHARD = re.compile(r"(?P<stem>.+)-(?P<index>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
_QUANT_AT_END = re.compile(r"[-.](?P<quant>[A-Za-z0-9_]+)$")
_QUANT_WORD = re.compile(r"(?:UD-)?(?:I?Q\d|TQ\d|B?F16|F32|MXFP4|NVFP4)\w*", re.IGNORECASE)


def is_model_file(name: str) -> bool:
    """Whether a repository's file is a model of its own, judged by its name (folders do not count)."""
    base = name.rsplit("/", 1)[-1].lower()
    return base.endswith(".gguf") and not any(part in base for part in COMPANIONS)


def choose_file(names: Sequence[str], quant: str | None) -> str | None:
    """The model file that `owner/repo:QUANT` means, as llama.cpp's `-hf` finds it; None if there is none.

    A named quantization matches where it ends a part of the name (`…-Q4_K_M.gguf`, `Q4_K_M-00001-of-…`),
    whatever the case. Without one: Q4_K_M, then Q8_0, then the first. Of a split model it is the first part.
    """
    candidates = [name for name in names if is_model_file(name) and shard_position(name)[0] == 1]
    for wanted in (quant,) if quant else PREFERRED:
        exact = re.compile(rf"(?<![A-Za-z0-9]){re.escape(wanted)}[.-]", re.IGNORECASE)
        loose = re.compile(rf"{re.escape(wanted)}[.-]", re.IGNORECASE)
        for pattern in (exact, loose):
            for name in candidates:
                if pattern.search(name):
                    return name
    return candidates[0] if candidates and not quant else None


def shard_position(name: str) -> tuple[int, int]:
    """(Which part, of how many) by the file's name; (1, 1) for a model in one file."""
    match = _SHARD.fullmatch(name)
    return (int(match["index"]), int(match["count"])) if match else (1, 1)


def shard_names(name: str) -> tuple[str, ...]:
    """The names of all parts of the model that `name` is a part of, in order."""
    match = _SHARD.fullmatch(name)
    if match is None:
        return (name,)
    count = int(match["count"])
    return tuple(f"{match['stem']}-{index:05d}-of-{count:05d}.gguf" for index in range(1, count + 1))


def quant_of_name(name: str) -> str | None:
    """The quantization a file's name ends with (`Q4_K_M`); None when it says nothing of the kind."""
    match = _SHARD.fullmatch(name)
    stem = match["stem"] if match else re.sub(r"\.gguf$", "", name, flags=re.IGNORECASE)
    found = _QUANT_AT_END.search(stem)
    if found is None or not _QUANT_WORD.fullmatch(found["quant"]):
        return None
    return found["quant"].upper()


def quants_of(names: Sequence[str]) -> tuple[str, ...]:
    """The quantizations that a repository offers, in the order of its files, each once."""
    found = (quant_of_name(name) for name in names if is_model_file(name))
    return tuple(dict.fromkeys(quant for quant in found if quant))
