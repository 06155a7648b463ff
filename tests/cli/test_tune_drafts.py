"""Which other drafts `tune` tries: of the family, here, smaller, compatible."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from specdec_cli.cli.models import choose_models
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.cli.tune_drafts import other_drafts
from specdec_cli.ui.console import Printer
from tests.support.tiny_models import bpe_vocabulary, spm_vocabulary, write_tiny_model
from tests.support.toy import ToyBackend

PAIR = """
[[pair]]
name = "{name}"
family = "{family}"
target = "{folder}/{target}.gguf"
draft = "{folder}/{draft}.gguf"
"""


@pytest.fixture
def family(tmp_path: Path, own_folders: Path) -> Path:
    """A family of four pairs around one target, and a pair of another family."""
    write_tiny_model(tmp_path / "target.gguf", layers=4)
    write_tiny_model(tmp_path / "draft.gguf", layers=1)
    write_tiny_model(tmp_path / "small.gguf", layers=2)
    write_tiny_model(tmp_path / "larger.gguf", layers=6)
    write_tiny_model(tmp_path / "strange.gguf", layers=1, vocabulary=spm_vocabulary())
    write_tiny_model(tmp_path / "foreign.gguf", layers=1, vocabulary=bpe_vocabulary())
    (tmp_path / "damaged.gguf").write_bytes(b"GGUF")
    config = own_folders / "config"
    config.mkdir()
    pairs = [("first", "toys", "draft"), ("missing", "toys", "nowhere"), ("other", "others", "foreign")]
    pairs += [(name, "toys", name) for name in ("small", "larger", "strange", "damaged")]
    text = "".join(
        PAIR.format(name=name, family=of, folder=tmp_path.as_posix(), target="target", draft=draft)
        for name, of, draft in pairs
    )
    (config / "models.toml").write_text(text, encoding="utf-8")
    return tmp_path


def found(options: EngineOptions) -> dict[str, Path]:
    backend = ToyBackend()
    models = choose_models(options, backend, Printer(io.StringIO(), quiet=True))
    return other_drafts(options, models, backend)


def test_a_pairs_family_is_searched(family: Path) -> None:
    (reference,) = (drafts := found(EngineOptions(pair="first")))
    assert drafts == {reference: family / "small.gguf"}
    backend = ToyBackend()
    again = EngineOptions(target=str(family / "target.gguf"), draft=reference)
    models = choose_models(again, backend, Printer(io.StringIO(), quiet=True))
    assert models.draft is not None
    assert models.draft.path == family / "small.gguf"


def test_a_target_alone_has_the_families_of_its_pairs(family: Path) -> None:
    drafts = found(EngineOptions(target=str(family / "target.gguf")))
    assert set(drafts.values()) == {family / f"{name}.gguf" for name in ("draft", "small", "foreign")}


def test_a_draft_that_was_named_is_not_questioned(family: Path) -> None:
    named = EngineOptions(target=str(family / "target.gguf"), draft=str(family / "draft.gguf"))
    assert found(named) == {}
