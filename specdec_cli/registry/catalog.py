"""The pairs and models known by name: `models.toml` of the package, and over it the user's own."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from specdec_cli.errors import SpecdecError
from specdec_cli.registry.sources import Source

USES = ("code", "chat")


@dataclass(frozen=True)
class ModelFacts:
    """The dimensions of a model as published: enough to plan its memory before any of its files was seen."""

    architecture: str
    """As `general.architecture` of its files."""
    layers: int
    embedding: int
    heads: int
    kv_heads: int
    head_size: int
    feed_forward: int
    vocabulary: int
    window: int = 0
    """Sliding window in tokens; 0 is none. Which layers have it follows from the architecture."""
    tied: bool = False
    """Whether the embedding serves as the output matrix too."""


@dataclass(frozen=True)
class ModelEntry:
    """One file of one model: a name and, where the model comes in several, a quantization."""

    name: str
    source: Source
    quant: str | None = None
    bytes: int | None = None
    """Size of the file(s) as reported; None where nobody said."""
    parameters: int | None = None
    """Weights of the model, in units."""
    licence: str | None = None
    gated: bool = False
    """Whether the Hub asks for an accepted licence and a login."""
    context: int | None = None
    """Context length the model was trained on, in tokens."""
    facts: ModelFacts | None = None

    @property
    def label(self) -> str:
        """`name:QUANT`, or the name alone."""
        return f"{self.name}:{self.quant}" if self.quant else self.name


@dataclass(frozen=True)
class Pair:
    """A target and a draft that belong together; the first of each is the default."""

    name: str
    targets: tuple[ModelEntry, ...]
    drafts: tuple[ModelEntry, ...]
    family: str = ""
    use: tuple[str, ...] = ()
    """What the pair is good at: some of `USES`; empty is anything."""
    licence: str | None = None
    gated: bool = False
    context: int | None = None
    notes: str = ""
    verified: bool = False
    """Whether someone pulled and checked exactly these files."""
    origin: str = ""
    """The file that defines the pair."""

    @property
    def target(self) -> ModelEntry:
        """The default target."""
        return self.targets[0]

    @property
    def draft(self) -> ModelEntry:
        """The default draft."""
        return self.drafts[0]

    def with_quant(self, quant: str) -> Pair:
        """The same pair with the target of this quantization first; an error names those there are."""
        chosen = [entry for entry in self.targets if (entry.quant or "").lower() == quant.lower()]
        if not chosen:
            known = ", ".join(entry.quant or entry.name for entry in self.targets)
            raise SpecdecError(f"pair {self.name} has no target quantized as {quant} (there are: {known})")
        rest = tuple(entry for entry in self.targets if entry not in chosen)
        return Pair(**{**self.__dict__, "targets": (*chosen, *rest)})


@dataclass(frozen=True)
class Catalog:
    """Everything known by name. Iteration order is the files' own, the user's pairs first."""

    pairs: Mapping[str, Pair] = field(default_factory=dict)
    models: Mapping[str, tuple[ModelEntry, ...]] = field(default_factory=dict)

    def pair(self, name: str) -> Pair:
        """The pair called `name` or `name:QUANT`; an error suggests the nearest name."""
        if name in self.pairs:
            return self.pairs[name]
        base, _, quant = name.partition(":")
        if quant and base in self.pairs:
            return self.pairs[base].with_quant(quant)
        near = nearest(base, self.pairs)
        raise SpecdecError(
            f"there is no pair called {name!r}",
            hint=f"did you mean {near}?" if near else "specdec list shows all pairs",
            code="pair.unknown",
        )


def nearest(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str | None:
    """The known name a mistyped one most likely meant; None when nothing is near."""
    lowered = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    if close:
        return lowered[close[0]]
    started = [candidate for low, candidate in lowered.items() if name and low.startswith(name.lower())]
    return started[0] if started else None


def packaged_models_file() -> Path:
    """`models.toml` inside the installed package; at the top of the repository in a source checkout."""
    installed = Path(__file__).with_name("models.toml")
    return installed if installed.is_file() else Path(__file__).parents[2] / "models.toml"


def load_catalog(user_file: Path | None = None) -> Catalog:
    """Read the packaged `models.toml` and, when it exists, `user_file`, whose names win.

    `user_file` None is the one in the user's config folder. Raises `SpecdecError` whose message begins
    `file:line:` for whatever is wrong in either.
    """
    from specdec_cli.registry.catalog_file import read_catalog_file
    from specdec_cli.registry.folders import user_models_file

    packaged = read_catalog_file(packaged_models_file())
    user_path = user_file if user_file is not None else user_models_file()
    if not user_path.is_file():
        if user_file is not None:
            raise SpecdecError(f"{user_file}: no such file")
        return packaged
    own = read_catalog_file(user_path, known_models=packaged.models)
    if own.models.keys() & packaged.models.keys():
        # The packaged pairs must name the user's files where he redefined a model.
        packaged = read_catalog_file(packaged_models_file(), winning_models=own.models)
    return Catalog(
        pairs={**own.pairs, **{name: pair for name, pair in packaged.pairs.items() if name not in own.pairs}},
        models={**packaged.models, **own.models},
    )
