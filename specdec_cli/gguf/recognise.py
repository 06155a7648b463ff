"""What a file is that is not a GGUF file, so that the message can say how to get the right one."""

from __future__ import annotations

LEGACY_MAGICS = (b"lmgg", b"fmgg", b"tjgg", b"algg")
"""ggml, ggmf, ggjt, ggla: the formats before GGUF, as they lie in a file."""


def what_it_is(start: bytes) -> tuple[str, str | None]:
    """In words, what begins with these bytes (256 are enough), and a hint where there is one."""
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer, not the file itself", "run `git lfs pull`, or download the file"
    if text.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "a web page", "use the file's download link, or `specdec pull`"
    if start[:4] in LEGACY_MAGICS:
        return "a GGML file from before GGUF", "download a newer file of this model"
    if start.startswith(b"PK\x03\x04"):
        return "a ZIP archive or PyTorch checkpoint", "download a GGUF file of this model"
    if start[8:10] == b'{"' and int.from_bytes(start[:8], "little") < 1 << 32:
        return "a safetensors file", "download a GGUF file of this model"
    if _is_text(start):
        return "a text file", None
    return f"it starts with the bytes {start[:4].hex(' ')}", None


def _is_text(start: bytes) -> bool:
    """Whether these bytes are UTF-8, perhaps cut inside the last character, without control characters."""
    for cut in range(4):
        try:
            text = start[: len(start) - cut].decode("utf-8")
        except UnicodeDecodeError:
            continue
        return all(character.isprintable() or character in "\t\r\n\f\ufeff" for character in text)
    return False
