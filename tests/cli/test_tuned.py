"""Tuned defaults in `specdec run`: used where nothing was typed, and named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specdec_cli.cli.requests import EngineOptions
from specdec_cli.cli.tuned import with_tuned_defaults
from specdec_cli.registry.catalog import load_catalog
from specdec_cli.registry.resolve import resolve_model, resolve_pair
from specdec_cli.registry.tuned import TunedSettings, pair_key, save_tuned
from tests.support.cli import run_cli
from tests.support.tiny_models import write_tiny_model
from tests.support.toy import ToyBackend, table_logits

BEST = TunedSettings(drafter="model", draft_max=3, threads=4, draft_threads=2, draft_kv_type="q8_0")
TYPED = EngineOptions(target="t.gguf", draft="d.gguf")


def tune(settings: TunedSettings, options: EngineOptions = TYPED) -> None:
    key = pair_key(options.pair, options.target, options.draft)
    assert key is not None
    save_tuned(key, settings)


def completed(**typed: object) -> EngineOptions:
    return with_tuned_defaults(replace(TYPED, **typed))[0]  # type: ignore[arg-type]


def test_without_tuning_nothing_changes() -> None:
    assert with_tuned_defaults(TYPED) == (TYPED, None)
    tune(BEST, EngineOptions(pair="demo"))
    assert with_tuned_defaults(TYPED) == (TYPED, None)
    assert with_tuned_defaults(EngineOptions()) == (EngineOptions(), None)


def test_what_was_not_typed_is_filled_in_and_named() -> None:
    tune(BEST)
    options, note = with_tuned_defaults(TYPED)
    assert (options.drafter, options.draft_max, options.threads) == ("model", 3, 4)
    assert (options.draft_threads, options.draft_kv_type) == (2, "q8_0")
    assert note == (
        "as tuned for this machine: drafter model, draft-max 3, threads 4, draft-threads 2, draft-kv-type q8_0"
    )


def test_what_was_typed_wins_and_takes_along_what_hangs_on_it() -> None:
    tune(BEST)
    assert (completed(drafter="auto").drafter, completed(drafter="auto").draft_max) == ("auto", None)
    assert (completed(draft_max=7).drafter, completed(draft_max=7).draft_max) == (None, 7)
    assert (completed(threads=1).threads, completed(threads=1).draft_threads) == (1, None)
    assert (completed(draft_threads=1).threads, completed(draft_threads=1).draft_threads) == (4, 1)
    assert completed(draft_kv_type="f32").draft_kv_type == "f32"
    assert completed(kv_type="q4_0").draft_kv_type is None
    ngram = with_tuned_defaults(replace(TYPED, drafter="ngram", draft=None))
    assert ngram == (replace(TYPED, drafter="ngram", draft=None), None)
    tune(BEST, replace(TYPED, draft=None))
    alone = with_tuned_defaults(replace(TYPED, drafter="ngram", draft=None))[0]
    assert (alone.threads, alone.draft_threads, alone.draft_kv_type) == (4, None, None)


def test_a_drafter_without_a_draft_model_leaves_the_draft_out() -> None:
    tune(TunedSettings(drafter="ngram", draft_max=16))
    options = completed()
    assert (options.drafter, options.draft) == ("ngram", None)
    assert completed(draft_threads=2).drafter is None  # whoever types that wants a draft model
    assert completed(drafter="auto") == replace(TYPED, drafter="auto")
    tune(TunedSettings(drafter="none"))
    assert (completed().drafter, completed().draft) == ("none", None)


def test_another_draft_of_the_family_replaces_the_pairs() -> None:
    pair = EngineOptions(pair="demo")
    tune(TunedSettings(drafter="model", draft="smollm2-135m-q4_1"), pair)
    options, _note = with_tuned_defaults(pair)
    catalog = load_catalog()
    assert options.pair is None
    assert options.target is not None
    assert resolve_model(options.target, catalog).source == resolve_pair("demo", catalog).target.source
    assert options.draft == "smollm2-135m-q4_1"


@pytest.mark.parametrize(
    "settings",
    [
        TunedSettings(drafter="of-the-future"),
        TunedSettings(threads=0),
        TunedSettings(draft_kv_type="q3"),
        TunedSettings(drafter="none", draft_max=3),
    ],
)
def test_settings_that_make_no_sense_are_void(settings: TunedSettings) -> None:
    tune(settings)
    assert with_tuned_defaults(TYPED) == (TYPED, None)


def test_run_uses_them_and_says_so(tmp_path: Path) -> None:
    target, draft = write_tiny_model(tmp_path / "target.gguf"), write_tiny_model(tmp_path / "draft.gguf")
    tune(replace(BEST, draft_kv_type="f32"), EngineOptions(target=str(target), draft=str(draft)))

    def run(*more: str) -> tuple[str, str]:
        backend = ToyBackend(target_logits=table_logits(7, end_bias=-9.0))
        arguments = ("run", "--target", target, "--draft", draft, "hello", "-n", "20", "-v", *more)
        result = run_cli(*arguments, backend=lambda: backend)
        return result.stdout, result.stderr

    stdout, stderr = run()
    for words in ("as tuned for this machine: drafter model", "threads=4", "kv_type=f32", "draft_max=3"):
        assert words in stderr
    untuned_stdout, untuned = run("--drafter", "auto", "--threads", "1", "--kv-type", "bf16")
    assert "as tuned" not in untuned
    assert untuned_stdout == stdout
