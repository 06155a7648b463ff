"""Tuned defaults on disk: kept per machine and pair, never half-understood, nobody else's file overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specdec_cli.errors import SpecdecError
from specdec_cli.registry import tuned
from specdec_cli.registry.tuned import TunedSettings, forget_tuned, load_tuned, pair_key, save_tuned

BEST = TunedSettings(
    drafter="model", draft_max=3, threads=4, draft_kv_type="q8_0", speedup=1.5, gain=1.1, measured_at="today"
)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = save_tuned("pair demo", BEST, tmp_path)
    assert path == tmp_path / "tuned.json"
    assert load_tuned("pair demo", tmp_path) == BEST
    assert load_tuned("pair other", tmp_path) is None
    assert load_tuned(None, tmp_path) is None
    save_tuned("pair other", TunedSettings(threads=2), tmp_path)
    assert load_tuned("pair demo", tmp_path) == BEST


def test_the_users_config_folder_is_the_default(own_folders: Path) -> None:
    save_tuned("pair demo", BEST)
    assert (own_folders / "config" / "tuned.json").is_file()
    assert load_tuned("pair demo") == BEST


def test_another_machine_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_tuned("pair demo", BEST, tmp_path)
    monkeypatch.setattr(tuned.os, "cpu_count", lambda: 1024)
    assert load_tuned("pair demo", tmp_path) is None
    save_tuned("pair demo", TunedSettings(threads=512), tmp_path)
    monkeypatch.undo()
    assert load_tuned("pair demo", tmp_path) == BEST


def test_forgetting(tmp_path: Path) -> None:
    save_tuned("pair demo", BEST, tmp_path)
    assert forget_tuned("pair demo", tmp_path)
    assert not forget_tuned("pair demo", tmp_path)
    assert load_tuned("pair demo", tmp_path) is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"schema": 2, "machines": {}}', '{"machines": 3}', '{"schema": 1, "machines": []}'],
)
def test_a_file_that_cannot_be_understood_tunes_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "tuned.json").write_text(text, encoding="utf-8")
    assert load_tuned("pair demo", tmp_path) is None


def test_a_foreign_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "tuned.json").write_text("mine", encoding="utf-8")
    with pytest.raises(SpecdecError, match="not what specdec tune wrote"):
        save_tuned("pair demo", BEST, tmp_path)
    assert (tmp_path / "tuned.json").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threads", "many"),
        ("threads", True),
        ("draft_max", 2.5),
        ("drafter", 3),
        ("speedup", "fast"),
        ("draft", []),
    ],
)
def test_values_of_a_wrong_kind_tune_nothing(tmp_path: Path, name: str, value: object) -> None:
    path = save_tuned("pair demo", BEST, tmp_path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["machines"][tuned.machine_key()]["pair demo"][name] = value
    path.write_text(json.dumps(document), encoding="utf-8")
    assert load_tuned("pair demo", tmp_path) is None


def test_fields_of_later_versions_are_passed_over(tmp_path: Path) -> None:
    path = save_tuned("pair demo", BEST, tmp_path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["machines"][tuned.machine_key()]["pair demo"]["from_the_future"] = 1
    path.write_text(json.dumps(document), encoding="utf-8")
    assert load_tuned("pair demo", tmp_path) == BEST


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(SpecdecError, match="cannot be written"):
        save_tuned("pair demo", BEST, tmp_path / "file" / "folder")


def test_files_are_known_by_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.gguf").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    absolute = str((tmp_path / "a.gguf").resolve())
    assert pair_key(None, "a.gguf", "owner/repo:Q4_0") == f"{absolute} + owner/repo:Q4_0"
    assert pair_key(None, "a.gguf", None) == pair_key(None, absolute, None) == absolute
    assert pair_key("demo", None, None) == "pair demo"
    assert pair_key(None, None, None) is None
