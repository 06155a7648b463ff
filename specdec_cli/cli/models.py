"""From --pair, --target and --draft to files on this machine, with their headers read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specdec_cli.cli.references import resolve_references
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.draft.catalog import drafter_kind
from specdec_cli.errors import SpecdecError
from specdec_cli.gguf.header import ModelHeader
from specdec_cli.gguf.reader import read_header
from specdec_cli.protocols import Backend
from specdec_cli.registry.derive import DeriveProgress
from specdec_cli.registry.folders import cache_dir
from specdec_cli.registry.records import mark_used
from specdec_cli.registry.resolve import Folders, ResolvedModel, make_ready
from specdec_cli.ui.console import Printer


@dataclass(frozen=True)
class ChosenModel:
    """One model's file and what its header says."""

    path: Path
    header: ModelHeader

    @property
    def name(self) -> str:
        """The model's own name, or its file's."""
        return self.header.name or self.path.stem

    @property
    def quant(self) -> str:
        """Its quantization, as file names spell it."""
        return self.header.quantization or "unknown"


@dataclass(frozen=True)
class ChosenModels:
    """What a command works on. `draft` is None when nothing needs one."""

    target: ChosenModel
    draft: ChosenModel | None


def choose_models(options: EngineOptions, backend: Backend, printer: Printer) -> ChosenModels:
    """Resolve, derive where needed, read headers. Raises with the way out when a file is not here or damaged."""
    target, draft = resolve_references(options, Folders.default())
    if options.drafter is not None and not drafter_kind(options.drafter).uses_draft_model:
        draft = None
    chosen_target = _ready(target, backend, printer)
    chosen_draft = _ready(draft, backend, printer) if draft is not None else None
    mark_used([model.path for model in (chosen_target, chosen_draft) if model is not None], cache_dir())
    return ChosenModels(chosen_target, chosen_draft)


def _ready(model: ResolvedModel, backend: Backend, printer: Printer) -> ChosenModel:
    with printer.progress() as progress:
        announced: set[str] = set()

        def deriving(step: DeriveProgress) -> None:
            if step.name not in announced:
                announced.add(step.name)
                printer.line(f"making {step.name} with llama.cpp, once", "dim")
            progress(f"{step.name} · {step.bytes_written / 2**20:.0f} MiB", None)

        path = make_ready(model, backend.quantize, deriving)
    if not path.exists():
        raise SpecdecError(f"{path}: no such file", code="file.missing")
    return ChosenModel(path, read_header(path))
