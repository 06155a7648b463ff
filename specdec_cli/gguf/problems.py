"""What can be wrong with a model file, each with a stable code."""

from __future__ import annotations

from specdec_cli.errors import SpecdecError

FILE_CODES: dict[str, str] = {
    "file.missing": "There is no such file.",
    "file.directory": "The path is a directory.",
    "file.unreadable": "The file exists but cannot be read.",
    "file.empty": "The file has no bytes.",
    "file.not_gguf": "The file is something else: text, a web page, a Git LFS pointer, another model format.",
    "file.not_model": "A GGUF file without general.architecture, such as importance data: nothing to run.",
    "file.big_endian": "A GGUF file for big-endian machines.",
    "file.version": "A GGUF version that is no longer, or not yet, supported (2 and 3 are).",
    "file.truncated": "The file ends before its header or its tensor data does.",
    "file.damaged": "The header contradicts itself: a length, a count or a type that cannot be.",
    "file.too_large": "A length or count that no model has, refused before anything is allocated.",
    "file.duplicate_key": "Two metadata entries with one key, or two tensors with one name.",
    "file.tensor": "A tensor whose type, shape or place in the file is impossible.",
    "file.vocabulary": "A vocabulary llama.cpp cannot load: empty, a token with a zero byte, a token twice.",
    "file.glued": "Another GGUF file follows the first one: shards joined with `cat`.",
    "file.shard_missing": "A part of a model in several files is not there.",
    "file.shard_name": "A part of a model in several files was renamed, so that the others cannot be found.",
    "file.shard_mismatch": "The parts of a model in several files do not belong together.",
}
"""Every code of this room and what it means."""


class HeaderProblem(SpecdecError):
    """A model file, or its header, that cannot be used. One line, with a code of `FILE_CODES`."""

    def __init__(self, source: str, message: str, *, code: str, hint: str | None = None) -> None:
        super().__init__(f"{printable(source, 400)}: {message}", hint=hint, code=code)
        self.source = source


def printable(text: str | bytes, limit: int = 60) -> str:
    """Text from a file, fit for one line: control characters escaped, at most `limit` characters."""
    if isinstance(text, bytes):
        text = text[: 4 * limit + 4].decode("utf-8", "backslashreplace")
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text[: limit + 1]
    )
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
