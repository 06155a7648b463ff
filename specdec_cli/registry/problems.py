"""What can go wrong between a name and a whole file, each with a stable code."""

from __future__ import annotations

REGISTRY_CODES: dict[str, str] = {
    "registry.invalid": "A models.toml that cannot be understood; the message begins with file and line.",
    "pair.unknown": "No pair of that name.",
    "file.missing": "There is no such file, and the name is no model's.",
    "file.not_here": "A model of the Hub that has not been downloaded.",
    "file.package_missing": "The Python package that carries the model is not installed.",
    "file.offline": "Offline, and the model is not in the cache.",
    "file.hub_unreachable": "No connection to the Hub.",
    "file.hub_answer": "The Hub's address answers with something that is not the Hub, or with a server error.",
    "file.rate_limited": "The Hub limits requests (429) for longer than is worth waiting.",
    "file.gated": "The repository's licence has to be accepted by a logged-in user first.",
    "file.refused": "The Hub does not accept the login.",
    "file.no_repository": "No such repository on the Hub (or a private one).",
    "file.not_in_repository": "The repository has no such file or quantization.",
    "file.no_space": "Not enough free disk space; nothing was downloaded.",
    "file.cut": "The connection broke again and again; what was received is kept.",
    "file.wrong_size": "The file ended early or late; what was received is kept.",
    "file.wrong_content": "What was received is not the file that the Hub describes; it was deleted.",
    "file.unwritable": "A folder that cannot be written.",
}
"""Every code of this room and what it means."""
