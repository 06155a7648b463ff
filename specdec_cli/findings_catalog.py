"""Every stable code a finding or an error can carry, with one sentence each.

Rooms with many codes keep their own table beside the code that uses them; the others' codes are here.
`python -m specdec_cli.findings_catalog` prints `docs/findings.md`; a test holds both, and the source, equal.
"""

from __future__ import annotations

from specdec_cli.compat.codes import COMPAT_CODES
from specdec_cli.gguf.problems import FILE_CODES
from specdec_cli.registry.problems import REGISTRY_CODES

_OTHER_CODES: dict[str, str] = {
    "context.full": "The cache cannot hold what should be decoded.",
    "context.prompt_too_long": "The prompt leaves no room for an answer.",
    "context.draft_full": "The draft's context is full; drafting has stopped.",
    "file.header_from_cache": "The Hub could not be asked; a header read earlier serves.",
    "file.made_on_first_use": "llama.cpp makes the file from another one when it is first run.",
    "file.load": "llama.cpp cannot load the file; the message has its reason.",
    "file.native_crash": "llama.cpp ended its process while it looked at the file.",
    "hardware.draft_unused": "The draft was loaded and drafted nothing.",
    "hardware.gpu_unused": "There is a GPU that the installed llama-cpp-python cannot use.",
    "hardware.machine_file": "A machine file that cannot be read or understood.",
    "hardware.nan_logits": "The model returned logits that are no numbers.",
    "hardware.native_library": "llama.cpp's native library cannot be loaded.",
    "hardware.no_gain": "Speculation hardly pays on this machine, as predicted or as measured.",
    "hardware.translated": "Python runs translated for another processor, which costs most of the speed.",
    "kv.block_size": "A quantized KV type's blocks do not divide the model's heads.",
    "kv.flash_attention": "A quantized KV type needs flash attention, and it is off.",
    "kv.quantized_with_draft": "Both caches are quantized; unpacking them can eat the gain.",
    "memory.context": "llama.cpp cannot make the context, mostly for lack of memory.",
    "memory.does_not_fit": "The models, caches and buffers need more memory than there is.",
    "memory.draft_on_cpu": "Layers of the draft stay in system memory.",
    "memory.partly_offloaded": "Layers of the target stay in system memory and set the pace.",
    "memory.tight": "It fits, with hardly anything left.",
    "memory.unknown": "How much memory the model takes beside its weights is unknown.",
    "sampling.grammar_dead_end": "The grammar allows no token here.",
    "sampling.grammar_refused": "llama.cpp cannot use the grammar.",
    "sampling.grammar_unfinished": "The answer ended before its grammar let it.",
    "sampling.nothing_left": "The sampling options leave no token to choose from.",
    "template.broken": "The model's chat template cannot be rendered.",
    "template.refused": "The model's chat template refuses this conversation.",
}

CODES: dict[str, str] = dict(sorted((_OTHER_CODES | COMPAT_CODES | REGISTRY_CODES | FILE_CODES).items()))
"""Code → what it means, in alphabetical order."""

_HEADING = """# Finding codes

Each finding of `specdec check`, and many errors of every command, carry one of these codes. In `--json` they are
`findings[].code`. Codes are stable: they may be added, never renamed. This page is generated:
`python -m specdec_cli.findings_catalog > docs/findings.md`.

An error makes the verdict `fail`, a warning `warn`; information changes nothing. One code can come at several
levels, by what breaks.
"""


def catalog_as_markdown() -> str:
    """The whole of `docs/findings.md`: one table for each group of codes."""
    groups: dict[str, list[str]] = {}
    for code, meaning in CODES.items():
        groups.setdefault(code.partition(".")[0], []).append(f"| `{code}` | {meaning} |")
    tables = (
        f"## {group}\n\n| code | meaning |\n|---|---|\n" + "\n".join(rows) for group, rows in groups.items()
    )
    return _HEADING + "\n" + "\n\n".join(tables) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    sys.stdout.write(catalog_as_markdown())
