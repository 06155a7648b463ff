"""Where a gated model can be had without a login."""

from __future__ import annotations

import re

from specdec_cli.registry.catalog import Catalog
from specdec_cli.registry.sources import HubSource


def ungated_alternative(repo: str, catalog: Catalog) -> str | None:
    """A repository of the catalog with the same model that asks for no login; None when it knows none.

    The same model is one whose name, without punctuation, the gated repository's name begins with.
    """
    wanted = _bare(repo.rsplit("/", 1)[-1])
    best = ""
    alternative = None
    for name, entries in catalog.models.items():
        source, bare = entries[0].source, _bare(name)
        if not isinstance(source, HubSource) or entries[0].gated or source.repo == repo:
            continue
        if wanted.startswith(bare) and len(bare) > len(best):
            best, alternative = bare, source.repo
    return alternative


def _bare(name: str) -> str:
    lowered = re.sub(r"[^a-z0-9]", "", name.lower())
    return re.sub(r"^(meta|google|bartowski)(?=[a-z])", "", lowered)
