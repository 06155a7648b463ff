"""A chat decides `--flash-attn auto`: off on a CPU where that takes little memory, else as llama.cpp has it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specdec_cli.cli.chat_attention import for_a_conversation
from specdec_cli.cli.models import ChosenModel, ChosenModels
from specdec_cli.cli.requests import EngineOptions
from specdec_cli.gguf.reader import read_header
from tests.support.tiny_models import write_tiny_model


@pytest.fixture
def models(tmp_path: Path) -> ChosenModels:
    path = write_tiny_model(tmp_path / "tiny.gguf", context=1 << 20)
    model = ChosenModel(path, read_header(path))
    return ChosenModels(model, model)


def test_it_is_off_on_a_cpu(models: ChosenModels) -> None:
    decided = for_a_conversation(EngineOptions(), models, has_gpu=False)
    assert decided.flash_attn == "off"
    for settings in decided.context_settings(default_threads=1):
        assert (settings.flash_attention, settings.n_batch) == ("off", 128)
    decided.validate()


@pytest.mark.parametrize(
    "options",
    [
        EngineOptions(flash_attn="on"),
        EngineOptions(flash_attn="off"),
        EngineOptions(kv_type="q8_0"),
        EngineOptions(draft_kv_type="q8_0"),
    ],
)
def test_what_was_typed_and_what_needs_it_stay(models: ChosenModels, options: EngineOptions) -> None:
    assert for_a_conversation(options, models, has_gpu=False) == options


def test_a_gpu_keeps_llama_cpps_choice(models: ChosenModels) -> None:
    assert for_a_conversation(EngineOptions(), models, has_gpu=True) == EngineOptions()


def test_a_context_whose_scores_are_large_keeps_flash_attention(models: ChosenModels) -> None:
    long = replace(EngineOptions(), ctx=1 << 20)
    assert for_a_conversation(long, models, has_gpu=False) == long
