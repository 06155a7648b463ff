"""What was typed, made a message: blocks between triple quotes, characters that no tokenizer takes."""

from __future__ import annotations

QUOTES = '"""'


def is_open_block(text: str) -> bool:
    """Whether a block was begun with triple quotes and is not closed: then Enter begins a new line."""
    stripped = text.lstrip()
    if not stripped.startswith(QUOTES):
        return False
    rest = stripped[len(QUOTES) :].rstrip()
    return not rest.endswith(QUOTES)


def clean_message(text: str) -> str:
    """The message without the quotes around a block; unpaired surrogates (from broken input) replaced."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\r\n", "\n")
    stripped = text.strip()
    if stripped.startswith(QUOTES) and not is_open_block(stripped):
        return stripped[len(QUOTES) : -len(QUOTES)].strip("\n")
    if "\n" in stripped:
        return text.strip("\n").rstrip()  # the first line keeps its indent
    return stripped
