"""Contexts of llama.cpp on a tiny model with random weights: decode, cut, and everything that is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from specdec_cli.errors import EngineFault, SpecdecError
from specdec_cli.llama.backend import LlamaBackend
from specdec_cli.llama.model import LlamaModel
from specdec_cli.settings import ContextSettings, KvType
from tests.support.tiny_models import spm_vocabulary, write_tiny_model

SMALL = ContextSettings(n_ctx=128, n_batch=16, threads=1)
TEXT = list(range(20, 60))
BATCH_SHAPES = 5e-3
"""What kernels for one row and for several may differ by, where logits spread by about 1 (AVX-512: 1.6e-3)."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaModel]:
    path = write_tiny_model(tmp_path_factory.mktemp("model") / "tiny.gguf")
    model = LlamaBackend().load(path, SMALL)
    yield model
    model.close()


def test_rows_are_the_logits_after_each_of_the_last_tokens(model: LlamaModel) -> None:
    one_by_one, at_once = model.new_context(SMALL, 8), model.new_context(SMALL, 8)
    single = np.vstack([one_by_one.decode([token], 1).copy() for token in TEXT[:12]])
    rows = at_once.decode(TEXT[:12], 5)
    assert rows.shape == (5, model.text.n_vocab)
    np.testing.assert_allclose(rows, single[-5:], atol=BATCH_SHAPES)
    assert at_once.length == 12
    one_by_one.close()
    at_once.close()


def test_an_input_longer_than_a_batch_is_the_same(model: LlamaModel) -> None:
    small, large = model.new_context(SMALL, 8), model.new_context(ContextSettings(n_ctx=128, threads=1), 8)
    np.testing.assert_allclose(small.decode(TEXT, 3), large.decode(TEXT, 3), atol=1e-4)
    assert small.length == large.length == len(TEXT)
    small.close()
    large.close()


@pytest.mark.parametrize("kv_type", get_args(KvType))
def test_every_kv_type_opens_a_cache_of_that_type(tmp_path: Path, kv_type: KvType) -> None:
    path = write_tiny_model(
        tmp_path / "tiny.gguf", embedding=64, heads=2, heads_kv=1
    )  # heads of a whole block
    model = LlamaBackend().load(path, SMALL)
    exact, other = model.new_context(SMALL, 8), model.new_context(replace(SMALL, kv_type=kv_type), 8)
    expected = exact.decode(TEXT[:12], 5)
    spread = float(expected.std())
    assert np.abs(other.decode(TEXT[:12], 5) - expected).max() < spread
    same = bool(np.array_equal(other.decode([1], 1), exact.decode([1], 1)))
    assert same == (kv_type in ("f16", "f32"))  # flash attention rounds what it reads to half precision
    for context in (exact, other):
        context.close()
    model.close()


def test_what_was_cut_leaves_no_trace(model: LlamaModel) -> None:
    fresh, cut = model.new_context(SMALL, 8), model.new_context(SMALL, 8)
    cut.decode(TEXT[:10], 0)
    cut.decode([70, 71, 72, 73], 4)
    assert cut.cut(10)
    assert cut.length == 10
    fresh.decode(TEXT[:10], 0)
    np.testing.assert_allclose(cut.decode([5, 6], 2), fresh.decode([5, 6], 2), atol=1e-5)
    assert cut.cut(99)  # nothing to drop
    assert cut.cut(0)
    assert cut.length == 0
    fresh.close()
    cut.close()


def test_the_view_of_the_logits_follows_the_library(model: LlamaModel) -> None:
    context = model.new_context(SMALL, 4)
    first = context.decode(TEXT[:4], 4)
    kept = first.copy()
    second = context.decode([9], 1)
    assert not np.array_equal(kept[0], second[0])
    assert second.base is first.base or second.base is not None  # a view, not a copy
    assert context.seconds > 0
    context.close()


@pytest.mark.parametrize(
    ("tokens", "rows"), [([], 0), ([1], 2), ([1] * 9, 9), ([-1], 1), ([10**6], 1), ([1], -1)]
)
def test_what_would_abort_the_process_is_refused_first(
    model: LlamaModel, tokens: list[int], rows: int
) -> None:
    context = model.new_context(SMALL, 8)
    with pytest.raises(EngineFault):
        context.decode(tokens, rows)
    assert context.length == 0
    context.close()


def test_a_full_context_is_an_error_that_changes_nothing(model: LlamaModel) -> None:
    context = model.new_context(SMALL, 8)
    context.decode(list(range(100)), 0)
    with pytest.raises(SpecdecError, match="100 of 128") as caught:
        context.decode(list(range(40)), 1)
    assert caught.value.code == "context.full"
    assert context.length == 100
    context.decode([1] * 28, 1)
    assert context.length == 128
    context.close()


def test_an_interruption_inside_a_long_input_leaves_the_cache_as_it_was(model: LlamaModel) -> None:
    context = model.new_context(ContextSettings(n_ctx=128, n_batch=64, threads=1), 8)
    context.decode(TEXT[:5], 0)
    context.interrupted = lambda: True
    with pytest.raises(KeyboardInterrupt):
        context.decode(list(range(60)), 0)
    assert context.length == 5
    context.interrupted = None
    context.decode(list(range(60)), 1)
    assert context.length == 65
    context.close()


def test_closing_twice_is_harmless_and_use_afterwards_is_refused(model: LlamaModel) -> None:
    context = model.new_context(SMALL, 1)
    context.close()
    context.close()
    with pytest.raises(EngineFault):
        context.decode([1], 1)
    with pytest.raises(EngineFault):
        context.cut(0)


def test_tokens_and_text(model: LlamaModel) -> None:
    text = model.text
    for sample in ("hello there", "emoji 🤖 and 한국어", "tabs\tand\nlines", "\x00", ""):
        tokens = text.tokenize(sample, add_special=False, parse_special=False)
        assert b"".join(text.piece(token) for token in tokens).decode() == sample
    special = text.tokenize("<|im_end|>", add_special=False, parse_special=True)
    assert len(special) == 1
    assert text.is_end_of_generation(special[0])
    assert text.piece(special[0]) == b""
    assert len(text.tokenize("<|im_end|>", add_special=False, parse_special=False)) > 1
    for outside in (-1, text.n_vocab):
        with pytest.raises(IndexError):
            text.piece(outside)


def test_a_token_longer_than_any_buffer_is_whole(tmp_path: Path) -> None:
    vocabulary = spm_vocabulary()
    long_word = "x" * 500
    words = list(vocabulary["tokenizer.ggml.tokens"])
    words[-1] = long_word
    vocabulary["tokenizer.ggml.tokens"] = words
    model = LlamaBackend().load(write_tiny_model(tmp_path / "long.gguf", vocabulary=vocabulary), SMALL)
    assert model.text.piece(len(words) - 1) == long_word.encode()
    model.close()


def test_a_file_that_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\x00" * 100)
    with pytest.raises(SpecdecError, match=r"broken\.gguf cannot be loaded: \S+"):
        LlamaBackend().load(broken, SMALL)


def test_a_context_that_cannot_be_made_says_why(model: LlamaModel) -> None:
    impossible = ContextSettings(n_ctx=128, kv_type="q8_0", flash_attention="off", threads=1)
    with pytest.raises(SpecdecError, match="cannot be made for tiny"):
        model.new_context(impossible, 1)


def test_loading_can_be_stopped(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        LlamaBackend().load(write_tiny_model(tmp_path / "tiny.gguf"), SMALL, lambda _fraction: False)


def test_quantizing_to_something_unknown_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecdecError, match="Q9_9"):
        LlamaBackend().quantize(tmp_path / "a", tmp_path / "b", "Q9_9")
    with pytest.raises(SpecdecError, match="cannot be made F16"):
        LlamaBackend().quantize(tmp_path / "a", tmp_path / "b", "F16")


def test_the_cpu_is_among_the_devices() -> None:
    devices = LlamaBackend().devices()
    assert any(device.kind == "cpu" and device.total_bytes > 0 for device in devices)
    assert LlamaBackend().name
