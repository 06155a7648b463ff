"""From headers to shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_cli.errors import SpecdecError
from specdec_cli.gguf.reader import parse_header, read_header
from specdec_cli.gguf.types import ValueType
from specdec_cli.memory.cache import cache_bytes
from specdec_cli.memory.compute import compute_bytes
from specdec_cli.memory.read_shape import read_shape
from specdec_cli.memory.shape import ModelShape
from specdec_cli.memory.wish import ModelWish
from specdec_cli.settings import ContextSettings
from tests.support.architecture_files import ModelFile, gemma4, lfm2, mamba2, qwen35, transformer, write_model
from tests.support.gguf_files import BytesSource, header_bytes, padded, typed, write_gguf


@pytest.fixture
def shape_of(tmp_path: Path) -> Any:
    def read(model: ModelFile) -> ModelShape:
        return read_shape(read_header(write_model(tmp_path / "model.gguf", model)))

    return read


def small(architecture: str = "llama", layers: int = 4, **more: Any) -> ModelFile:
    return transformer(
        architecture, layers, 256, 512, heads=8, kv_heads=2, head_width=32, vocabulary=1000, **more
    )


def windows(shape: ModelShape) -> list[int]:
    return [layer.window for layer in shape.layers]


def test_a_plain_transformer(shape_of: Any) -> None:
    shape = shape_of(small())
    layer = shape.layers[0]
    assert (layer.heads, layer.kv_heads, layer.key_length, layer.value_length) == (8, 2, 32, 32)
    assert layer.feed_forward == 3 * 512
    assert layer.keeps_kv
    assert (shape.n_vocab, shape.context_length, len(shape.layers)) == (1000, 32768, 4)
    assert shape.unknown is None
    assert shape.quantization == "Q8_0"


def test_every_byte_is_counted_once(tmp_path: Path) -> None:
    header = read_header(write_model(tmp_path / "model.gguf", small()))
    shape = read_shape(header)
    assert shape.weight_bytes == header.weight_bytes
    assert shape.parameters == header.n_parameters


@pytest.mark.parametrize("tied", [True, False])
def test_tied_embedding(shape_of: Any, tied: bool) -> None:
    shape = shape_of(small(tied=tied))
    embedding = 256 * 1000 * 34 // 32
    assert shape.input_bytes == embedding
    assert shape.tied_bytes == (embedding if tied else 0)
    assert shape.output_bytes == 256 * 4 + (0 if tied else embedding)


@pytest.mark.parametrize(
    ("architecture", "layers", "more", "expected"),
    [
        ("llama", 4, {"attention__sliding_window": 64}, [0, 0, 0, 0]),
        ("phi3", 4, {"attention__sliding_window": 64}, [0, 0, 0, 0]),
        ("gemma2", 4, {}, [4096, 0, 4096, 0]),
        ("gemma3", 7, {"attention__sliding_window": 64}, [64, 64, 64, 64, 64, 0, 64]),
        ("gemma3", 3, {}, [0, 0, 0]),
        ("gemma3", 3, {"attention__sliding_window": 64, "attention__sliding_window_pattern": 2}, [64, 0, 64]),
        ("gpt-oss", 3, {"attention__sliding_window": 128}, [128, 0, 128]),
        ("smallthinker", 5, {"attention__sliding_window": 128}, [0, 4096, 4096, 4096, 0]),
        ("smallthinker", 2, {}, [0, 0]),
        ("exaone4", 4, {}, [0, 0, 0, 0]),
        ("llama4", 4, {}, [8192, 8192, 8192, 0]),
        ("llama4", 4, {"attention__sliding_window": 0}, [0, 0, 0, 0]),
        (
            "olmo2",
            3,
            {"attention__sliding_window": 64, "attention__sliding_window_pattern": [True, False, True]},
            [64, 0, 64],
        ),
    ],
)
def test_windows(
    shape_of: Any, architecture: str, layers: int, more: dict[str, Any], expected: list[int]
) -> None:
    assert windows(shape_of(small(architecture, layers, **more))) == expected


def test_heads_per_layer(shape_of: Any) -> None:
    model = small()
    model.metadata["attention.head_count_kv"] = [2, 4, 0, 8]
    assert [layer.kv_heads for layer in shape_of(model).layers] == [2, 4, 0, 8]
    assert [layer.keeps_kv for layer in shape_of(model).layers] == [True, True, False, True]


def test_experts(shape_of: Any) -> None:
    layer = shape_of(small("qwen3moe", experts=(16, 4, 64))).layers[0]
    assert layer.expert_bytes == 3 * 256 * 64 * 16 * 34 // 32
    assert layer.feed_forward == 4 * 3 * 64
    assert layer.expert_rows == 4 * 256


def test_a_feed_forward_without_gate_holds_less(shape_of: Any) -> None:
    model = small("starcoder2")
    for index in range(4):
        del model.tensors[f"blk.{index}.ffn_gate.weight"]
    assert shape_of(model).layers[0].feed_forward == 512


def test_gate_and_up_in_one_tensor(shape_of: Any) -> None:
    model = small("phi3")
    for index in range(4):
        del model.tensors[f"blk.{index}.ffn_gate.weight"]
        model.tensors[f"blk.{index}.ffn_up.weight"] = (256, 1024)
    assert shape_of(model).layers[0].feed_forward == 3 * 512


def test_draft_head_layers_are_not_loaded(shape_of: Any) -> None:
    model = small("glm4moe", layers=5, nextn_predict_layers=1)
    shape = shape_of(model)
    assert len(shape.layers) == 4
    assert shape.offloadable_layers == 6
    per_layer = shape.layers[0].weight_bytes
    assert shape.weight_bytes == shape.input_bytes + shape.output_bytes + 4 * per_layer


def test_layers_that_share_a_cache(shape_of: Any) -> None:
    shape = shape_of(gemma4(10, shared_layers=5, per_layer=64))
    assert [layer.keeps_kv for layer in shape.layers] == [True] * 5 + [False] * 5
    assert [layer.key_length for layer in shape.layers[:5]] == [256, 256, 256, 256, 512]
    assert shape.input_rows == 2 * 64 * 10


def test_recurrent_layers(shape_of: Any) -> None:
    mamba = shape_of(mamba2(3))
    assert all(layer.state_bytes and not layer.keeps_kv for layer in mamba.layers)
    assert mamba.layers[0].state_bytes == 4 * (3 * (1536 + 2 * 128) + 128 * 1536)
    convolutions = shape_of(lfm2(4))
    assert [bool(layer.state_bytes) for layer in convolutions.layers] == [True, True, False, True]
    deltas = shape_of(qwen35(8))
    assert [layer.keeps_kv for layer in deltas.layers] == [False, False, False, True] * 2
    assert mamba.recurrent
    assert not shape_of(small()).recurrent


def test_an_unknown_architecture_says_so_and_still_has_weights(shape_of: Any) -> None:
    shape = shape_of(small("brandnew"))
    assert "brandnew" in shape.unknown
    assert shape.weight_bytes > 0


@pytest.mark.parametrize("missing", ["block_count", "embedding_length", "attention.head_count"])
def test_missing_facts_are_unknown(shape_of: Any, missing: str) -> None:
    model = small()
    del model.metadata[missing]
    assert shape_of(model).unknown is not None


def test_too_few_heads_listed_is_unknown(shape_of: Any) -> None:
    model = small()
    model.metadata["attention.head_count_kv"] = [2, 2]
    assert "2 of 4" in shape_of(model).unknown


def test_a_vocabulary_only_file(tmp_path: Path) -> None:
    metadata = {"general.architecture": "llama", "llama.block_count": 2, "llama.embedding_length": 64}
    header = read_header(write_gguf(tmp_path / "vocab.gguf", metadata))
    assert "no weights" in (read_shape(header).unknown or "")


def test_one_dimensional_matrices_do_not_break_it(shape_of: Any) -> None:
    model = small("mamba2")
    for name in ("ffn_up", "ffn_down", "ssm_in"):
        model.tensors[f"blk.0.{name}.weight"] = (256,)
    assert shape_of(model).weight_bytes > 0


HOSTILE = (
    "attention.head_count attention.head_count_kv attention.key_length attention.value_length expert_count "
    "attention.sliding_window attention.sliding_window_pattern nextn_predict_layers expert_used_count "
    "attention.shared_kv_layers embedding_length_per_layer_input ssm.conv_kernel ssm.inner_size ssm.state_size "
    "ssm.group_count shortconv.l_cache full_attention_interval"
)


@given(
    architecture=st.sampled_from(["llama", "gemma3", "gemma4", "qwen35", "lfm2", "mamba2", "falcon-h1"]),
    changes=st.dictionaries(
        st.sampled_from(HOSTILE.split()),
        st.one_of(
            st.integers(-(1 << 31), (1 << 31) - 1),
            st.lists(st.integers(-9, 9), min_size=1, max_size=6),
            st.sampled_from(["text", True, 1.5]),
        ),
        max_size=5,
    ),
)
@settings(max_examples=150, deadline=None)
def test_no_header_makes_a_negative_number_or_an_exception(
    architecture: str, changes: dict[str, Any]
) -> None:
    model = small(architecture)
    model.metadata |= {
        key: typed(ValueType.INT32, value)
        if isinstance(value, int) and not isinstance(value, bool)
        else value
        for key, value in changes.items()
    }
    metadata, tensors = model.header()
    try:
        content = header_bytes(metadata, tensors) + bytes(sum(padded(tensor.n_bytes) for tensor in tensors))
        header = parse_header(BytesSource(content), "hostile.gguf")
    except SpecdecError:
        return
    wish = ModelWish(read_shape(header), ContextSettings(n_ctx=512), 2)
    buffers = compute_bytes(wish)
    assert min(cache_bytes(wish), buffers.working, buffers.inputs, buffers.handed_out) >= 0
    assert wish.shape.weight_bytes > 0
