"""What is written is read back: metadata of every type, tensors, and what a header derives from them."""

from pathlib import Path

import pytest

from specdec_cli.gguf.header import GgmlType, MetaArray, ValueType
from specdec_cli.gguf.reader import parse_header, read_header
from specdec_cli.gguf.types import BLOCKS, FILE_TYPE_LABELS
from tests.support.gguf_files import BytesSource, TensorSpec, gguf_bytes, typed, write_gguf
from tests.support.tiny_models import architecture_metadata, write_tiny_model, write_vocabulary_only

from tests.support.tiny_models import bpe_vocabulary, spm_vocabulary  # isort: skip

ARCHITECTURE = {"general.architecture": "llama"}
SCALARS = {
    ValueType.UINT8: 255,
    ValueType.INT8: -128,
    ValueType.UINT16: 65_535,
    ValueType.INT16: -32_768,
    ValueType.UINT32: 2**32 - 1,
    ValueType.INT32: -(2**31),
    ValueType.FLOAT32: -0.5,
    ValueType.BOOL: True,
    ValueType.UINT64: 2**64 - 1,
    ValueType.INT64: -(2**63),
    ValueType.FLOAT64: 1e300,
}


def parse(content: bytes):
    return parse_header(BytesSource(content), "model.gguf")


@pytest.mark.parametrize("value_type", SCALARS, ids=lambda kind: kind.name)
def test_every_scalar_type_is_read_with_its_own_range(value_type):
    value = SCALARS[value_type]
    read = parse(gguf_bytes(ARCHITECTURE | {"a.b": typed(value_type, value)})).metadata["a.b"]
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("value_type", SCALARS, ids=lambda kind: kind.name)
def test_every_array_type_is_read_lazily_with_python_values(value_type):
    value = SCALARS[value_type]
    array = parse(
        gguf_bytes(ARCHITECTURE | {"a.b": typed(value_type, [value, 0, value], array=True)})
    ).metadata["a.b"]
    assert isinstance(array, MetaArray)
    assert array.element_type == value_type
    assert list(array) == [value, 0, value]
    assert array[-1] == value
    assert array[1:] == (0, value)
    assert type(array[0]) is type(value)


def test_text_is_unicode_and_damaged_text_does_not_refuse_a_model():
    metadata = parse(
        gguf_bytes(ARCHITECTURE | {"a": "größe 🙂", "b": b"x\xffy", "c": "", "d": ["é", "", "z"]})
    ).metadata
    assert metadata["a"] == "größe 🙂"
    assert metadata["b"] == "x\N{REPLACEMENT CHARACTER}y"
    assert metadata["c"] == ""
    assert list(metadata["d"]) == ["é", "", "z"]
    assert list(metadata) == ["general.architecture", "a", "b", "c", "d"]
    assert "missing" not in metadata


def test_arrays_compare_by_content():
    first, second, third = (
        parse(gguf_bytes(ARCHITECTURE | {"a": value})).metadata["a"]
        for value in (["x", "y"], ["x", "y"], ["xy", ""])
    )
    assert first == second
    assert first != third


@pytest.mark.parametrize("version", [2, 3])
def test_both_current_versions_are_read(version):
    assert parse(gguf_bytes(ARCHITECTURE, version=version)).version == version


def test_the_tensor_table_has_sizes_and_places():
    tensors = [
        TensorSpec("a", (256, 3), GgmlType.Q4_K, bytes(432)),
        TensorSpec("b", (5,)),
        TensorSpec("c", (), GgmlType.F16, b"xx"),
        TensorSpec("d", (32, 2, 2, 2), GgmlType.Q8_0),
        TensorSpec("e", (0,)),
    ]
    content = gguf_bytes(ARCHITECTURE | {"general.alignment": 64}, tensors, alignment=64)
    header = parse(content)
    assert [(t.name, t.shape, t.type_name, t.offset, t.n_bytes, t.n_elements) for t in header.tensors] == [
        ("a", (256, 3), "Q4_K", 0, 432, 768),
        ("b", (5,), "F32", 448, 20, 5),
        ("c", (), "F16", 512, 2, 1),
        ("d", (32, 2, 2, 2), "Q8_0", 576, 272, 256),
        ("e", (0,), "F32", 896, 0, 0),
    ]
    assert header.n_parameters == 1030
    assert header.weight_bytes == 726
    assert header.bits_per_weight == pytest.approx(726 * 8 / 1030)
    assert header.dominant_type == GgmlType.Q4_K
    assert header.elements_by_type == {
        GgmlType.Q4_K: 768,
        GgmlType.Q8_0: 256,
        GgmlType.F32: 5,
        GgmlType.F16: 1,
    }
    shard = header.shards[0]
    assert shard.data_offset % 64 == 0
    assert 0 <= shard.data_offset - header.header_bytes < 64
    assert shard.data_offset + 896 == header.file_bytes == len(content)


@pytest.mark.parametrize("ggml_type", list(GgmlType), ids=lambda kind: kind.name)
def test_every_tensor_type_can_be_read(ggml_type):
    block_size, block_bytes = BLOCKS[ggml_type]
    tensor = TensorSpec("t", (2 * block_size, 3), ggml_type, bytes(6 * block_bytes))
    header = parse(gguf_bytes(ARCHITECTURE, [tensor]))
    assert header.weight_bytes == 6 * block_bytes
    assert header.bits_per_weight == pytest.approx(ggml_type.bits_per_element)
    assert header.quantization == ggml_type.name


def test_a_tiny_model_says_what_it_is(tmp_path):
    header = read_header(
        write_tiny_model(tmp_path / "m.gguf", vocabulary=bpe_vocabulary(64), ggml_type=GgmlType.Q8_0)
    )
    assert header.source == str(tmp_path / "m.gguf")
    assert (header.architecture, header.name, header.kind) == ("llama", "tiny", "model")
    assert (header.block_count, header.context_length, header.embedding_length) == (2, 512, 32)
    assert (header.head_count, header.head_count_kv, header.key_length, header.value_length) == (4, 2, 8, 8)
    assert (header.expert_count, header.expert_used_count, header.sliding_window) == (0, 0, None)
    assert (header.vocab_size, header.file_type, header.quantization) == (64, 0, "F32")
    assert header.dominant_type == GgmlType.Q8_0
    assert header.has_weights
    assert header.chat_template == header.vocabulary.chat_template
    assert header.get("feed_forward_length") == 64
    assert header.get("nothing") is None
    assert header.trailing_bytes == 0


def test_values_per_layer_and_their_defaults():
    keys = architecture_metadata("gemma4", heads=[8, 4], heads_kv=[2, 1], attention__sliding_window=512)
    header = parse(gguf_bytes(keys))
    assert header.head_count == (8, 4)
    assert header.head_count_kv == (2, 1)
    assert header.key_length == 32 // 8
    assert header.sliding_window == 512
    explicit = parse(
        gguf_bytes(keys | {"gemma4.attention.key_length": 64, "gemma4.attention.value_length": 16})
    )
    assert (explicit.key_length, explicit.value_length) == (64, 16)
    assert parse(gguf_bytes(architecture_metadata(heads=4, heads_kv=None))).head_count_kv == 4


def test_a_value_of_the_wrong_kind_is_as_good_as_none():
    keys = architecture_metadata() | {
        "llama.block_count": "two",
        "llama.context_length": True,
        "general.name": 7,
    }
    keys |= {"llama.attention.sliding_window": typed(ValueType.INT32, -1), "llama.expert_used_count": [1, -2]}
    header = parse(gguf_bytes(keys | {"llama.attention.head_count": ["a", "b"]}))
    assert header.sliding_window is None
    assert header.expert_used_count == 0
    assert parse(gguf_bytes(keys | {"llama.attention.head_count": [1] * 5000})).head_count is None
    assert header.block_count is None
    assert header.context_length is None
    assert header.name is None
    assert header.head_count is None
    assert header.key_length is None


def test_a_mixture_of_experts(tmp_path):
    header = read_header(write_tiny_model(tmp_path / "m.gguf", experts=4))
    assert (header.expert_count, header.expert_used_count) == (4, 2)


def test_a_vocabulary_only_file_has_no_weights(tmp_path):
    header = read_header(write_vocabulary_only(tmp_path / "v.gguf", spm_vocabulary()))
    assert not header.has_weights
    assert header.quantization is None
    assert header.bits_per_weight is None
    assert header.dominant_type is None
    assert header.vocab_size == 300
    assert header.header_bytes == header.file_bytes


def test_the_label_comes_from_the_file_type_even_when_guessed():
    tensor = TensorSpec("t", (32,), GgmlType.Q8_0)
    labels = [
        parse(gguf_bytes(ARCHITECTURE | {"general.file_type": number}, [tensor])).quantization
        for number in (15, 1024 + 15, 999)
    ]
    assert labels == ["Q4_K_M", "Q4_K_M", "Q8_0"]
    assert len(set(FILE_TYPE_LABELS.values())) == len(FILE_TYPE_LABELS)


def test_bytes_after_the_end_are_counted_but_padding_is_not(tmp_path):
    content = gguf_bytes(ARCHITECTURE, [TensorSpec("t", (5,))])
    assert parse(content).trailing_bytes == 0
    assert parse(content[:-12]).trailing_bytes == 0
    assert parse(content + b"tail").trailing_bytes == 4


def test_a_header_of_many_gigabytes_of_weights_reads_only_the_header(tmp_path):
    path = write_gguf(tmp_path / "big.gguf", ARCHITECTURE, [TensorSpec("t", (4096, 1_000_000))], sparse=True)
    header = read_header(path)
    assert header.weight_bytes == 4096 * 1_000_000 * 4
    assert header.file_bytes == Path(path).stat().st_size
