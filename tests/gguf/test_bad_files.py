"""Every kind of damage gives one line, a stable code and, where there is a way out, a hint."""

import os
import struct
import sys
import time
import tracemalloc

import pytest

from specdec_cli.gguf.problems import FILE_CODES, printable
from specdec_cli.gguf.reader import HeaderProblem, parse_header, read_header
from tests.support.gguf_files import (
    BytesSource,
    Raw,
    TensorSpec,
    claimed_array,
    claimed_string,
    gguf_bytes,
    header_bytes,
    string,
    typed,
)

from specdec_cli.gguf.types import GgmlType, ValueType  # isort: skip
from tests.support.tiny_models import architecture_metadata, bpe_vocabulary, write_tiny_model  # isort: skip

ARCHITECTURE = {"general.architecture": "llama"}
WEIGHT = [TensorSpec("t", (32,))]


def tensor(name="t", shape=(32,), ggml_type=0, offset=0, n_dimensions=None):
    """One row of the tensor table with any content, behind a header that has nothing else."""
    row = string(name) + struct.pack("<I", len(shape) if n_dimensions is None else n_dimensions)
    row += struct.pack(f"<{len(shape)}QIQ", *shape, ggml_type, offset)
    return header_bytes(ARCHITECTURE, n_tensors=1) + row + bytes(4096)


def model(**numbers):
    return gguf_bytes(architecture_metadata(**numbers), WEIGHT)


NOT_GGUF = {
    "empty": (b"", "file.empty", "empty"),
    "text": (b"# My model\nSee the README. \xc3\xa9\n", "file.not_gguf", "a text file"),
    "short text": (b"hi", "file.not_gguf", "a text file"),
    "long text": ("né ".encode() * 300, "file.not_gguf", "a text file"),
    "web page": (b"\n<!DOCTYPE html><html>", "file.not_gguf", "a web page"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "file.not_gguf", "Git LFS pointer"),
    "ggml": (b"tjgg\x03\0\0\0" + bytes(64), "file.not_gguf", "before GGUF"),
    "zip": (b"PK\x03\x04" + bytes(64), "file.not_gguf", "PyTorch"),
    "safetensors": (struct.pack("<Q", 2000) + b'{"__metadata__"', "file.not_gguf", "safetensors"),
    "binary": (b"\x00\xff\xfe\xfd\x80", "file.not_gguf", "00 ff fe fd"),
    "magic cut": (b"GGU", "file.truncated", "3 bytes"),
    "magic only": (b"GGUF", "file.truncated", "4 bytes"),
    "version 1": (header_bytes(ARCHITECTURE, version=1), "file.version", "version 1 is not supported"),
    "version 0": (header_bytes(ARCHITECTURE, version=0), "file.version", "version 0 is not supported"),
    "version 4": (header_bytes(ARCHITECTURE, version=4), "file.version", "version 4 is not supported"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "file.big_endian", "big-endian"),
}
CLAIMS = {
    "2^60 keys": (header_bytes(ARCHITECTURE, n_keys=2**60), "file.too_large", "metadata keys"),
    "2^60 tensors": (header_bytes(ARCHITECTURE, n_tensors=2**60), "file.too_large", "tensors"),
    "a key too many": (header_bytes(ARCHITECTURE, n_keys=2), "file.truncated", "metadata key 2 of 2"),
    "a tensor too many": (header_bytes(ARCHITECTURE, n_tensors=1), "file.truncated", "tensor 1 of 1"),
    "2^60 tokens": (
        header_bytes(ARCHITECTURE | {"tokenizer.ggml.tokens": claimed_array(ValueType.STRING, 2**60)}),
        "file.too_large",
        "claims 1,152,921,504,606,846,976 entries",
    ),
    "2^60 numbers": (
        header_bytes(ARCHITECTURE | {"a": claimed_array(ValueType.UINT8, 2**60)}),
        "file.too_large",
        "claims 1,152,921,504,606,846,976 entries",
    ),
    "more tokens than bytes": (
        header_bytes(ARCHITECTURE | {"a": claimed_array(ValueType.STRING, 1000, string("x") * 20)}),
        "file.truncated",
        "claims 1,000 entries",
    ),
    "text of 1 GiB": (
        header_bytes(ARCHITECTURE | {"general.name": claimed_string(1 << 30)}),
        "file.too_large",
        "general.name, which claims a text of 1,073,741,824 bytes",
    ),
    "text of 2^64 bytes": (
        header_bytes(ARCHITECTURE | {"general.name": claimed_string(2**64 - 1)}),
        "file.too_large",
        "general.name",
    ),
    "text past the end": (
        header_bytes(ARCHITECTURE | {"general.name": claimed_string(100, b"short")}),
        "file.truncated",
        "claims a text of 100 bytes",
    ),
    "token of 2^63 bytes": (
        header_bytes(
            ARCHITECTURE | {"a": claimed_array(ValueType.STRING, 2, string("x") + struct.pack("<Q", 2**63))}
        ),
        "file.too_large",
        "a, which claims 2 entries",
    ),
    "name of 2^40 bytes": (
        header_bytes([], n_keys=1) + struct.pack("<Q", 2**40),
        "file.damaged",
        "claims a name of 1,099,511,627,776 bytes",
    ),
}
METADATA = {
    "key twice": (
        gguf_bytes([*ARCHITECTURE.items(), ("a", 1), ("a", 2)]),
        "file.duplicate_key",
        "key a is there",
    ),
    "empty key": (gguf_bytes({"": 1}), "file.damaged", "no usable name"),
    "zero byte in key": (gguf_bytes({"general.name\0x": 1}), "file.damaged", r"general.name\x00x"),
    "key not unicode": (gguf_bytes([(b"\xff", 1)]), "file.damaged", r"\xff"),
    "unknown type": (gguf_bytes({"a": Raw(13, b"")}), "file.damaged", "type 13"),
    "unknown element type": (gguf_bytes({"a": claimed_array(99, 1)}), "file.damaged", "type 99"),
    "array of arrays": (
        gguf_bytes({"a": claimed_array(ValueType.ARRAY, 1, struct.pack("<IQ", 9, 1) * 1000)}),
        "file.damaged",
        "array of arrays",
    ),
    "alignment 0": (gguf_bytes(ARCHITECTURE | {"general.alignment": 0}), "file.damaged", "power of two"),
    "alignment 48": (gguf_bytes(ARCHITECTURE | {"general.alignment": 48}), "file.damaged", "power of two"),
    "alignment text": (
        gguf_bytes(ARCHITECTURE | {"general.alignment": "32"}),
        "file.damaged",
        "power of two",
    ),
    "alignment huge": (
        gguf_bytes(ARCHITECTURE | {"general.alignment": 2**31}),
        "file.damaged",
        "power of two",
    ),
    "no architecture": (gguf_bytes({"general.name": "x"}), "file.not_model", "no general.architecture"),
    "importance data": (gguf_bytes({"general.type": "imatrix"}), "file.not_model", "of type imatrix"),
    "no layers": (model(layers=0), "file.damaged", "claims 0 layers"),
    "layers": (model(layers=100_000), "file.damaged", "claims 100,000 layers"),
    "draft layers": (model(nextn_predict_layers=3), "file.damaged", "3 draft layers among 2"),
    "experts": (model(expert_count=2000, expert_used_count=2), "file.damaged", "claims 2,000 experts"),
    "experts used": (model(expert_count=4, expert_used_count=5), "file.damaged", "use 5 of 4"),
    "experts unused": (model(expert_count=4), "file.damaged", "use 0 of 4"),
    "expert groups": (
        model(expert_count=4, expert_used_count=2, expert_group_count=4),
        "file.damaged",
        "4 groups of 4 experts",
    ),
    "rope": (model(rope__scaling__type="spiral"), "file.damaged", "rope.scaling.type"),
}
TENSORS = {
    "name twice": (gguf_bytes(ARCHITECTURE, WEIGHT * 2), "file.duplicate_key", "tensor t is there twice"),
    "no name": (tensor(name=""), "file.damaged", "tensor 1 of 1 has no usable name"),
    "long name": (tensor(name="n" * 64), "file.tensor", "more than 63 bytes"),
    "zero byte": (tensor(name="a\0b"), "file.damaged", r"a\x00b"),
    "five dimensions": (tensor(n_dimensions=5), "file.tensor", "5 dimensions"),
    "2^32 dimensions": (tensor(n_dimensions=2**32 - 1), "file.tensor", "4,294,967,295 dimensions"),
    "too many elements": (tensor(shape=(2**40, 2**40)), "file.tensor", "impossible shape"),
    "hidden by an axis of 0": (tensor(shape=(0, 2**63)), "file.tensor", "impossible shape"),
    "retired type": (tensor(ggml_type=4), "file.tensor", "type 4"),
    "unknown type": (tensor(ggml_type=2**32 - 1), "file.tensor", "type 4294967295"),
    "half a block": (
        tensor(shape=(33,), ggml_type=GgmlType.Q8_0),
        "file.tensor",
        "rows of 33 elements, which Q8_0",
    ),
    "offset outside": (tensor(offset=2**62), "file.tensor", "starts at byte 4,611,686,018,427,387,904"),
    "offset overlap": (
        gguf_bytes(ARCHITECTURE, [*WEIGHT, TensorSpec("u", (32,), offset=0)]),
        "file.tensor",
        "u starts at byte 0 of the data where 128 is right",
    ),
    "data missing": (gguf_bytes(ARCHITECTURE, WEIGHT)[:-1], "file.truncated", "127 of 128 bytes"),
    "all data missing": (gguf_bytes(ARCHITECTURE, WEIGHT)[:-140], "file.truncated", "0 of 128 bytes"),
    "data of 2^50 bytes": (tensor(shape=(2**48,)), "file.truncated", "of 1,125,899,906,842,624 bytes"),
}
GLUED = {
    "after data": (gguf_bytes(ARCHITECTURE, WEIGHT) * 2, "file.glued", "another GGUF file"),
    "after unpadded data": (
        gguf_bytes(ARCHITECTURE, [TensorSpec("t", (5,))])[:-12] + gguf_bytes(ARCHITECTURE),
        "file.glued",
        "another GGUF file",
    ),
    "after a vocabulary": (gguf_bytes(ARCHITECTURE) * 2, "file.glued", "joined with `cat`"),
}
CASES = {
    f"{group} - {name}": case
    for group, cases in {
        "file": NOT_GGUF,
        "claims": CLAIMS,
        "metadata": METADATA,
        "tensors": TENSORS,
        "glued": GLUED,
    }.items()
    for name, case in cases.items()
}


def assert_one_clear_line(problem: HeaderProblem, code: str, words: str) -> None:
    assert problem.code == code
    assert words in problem.message
    assert problem.message.isprintable()
    assert len(problem.message) < 500
    assert problem.exit_code == 1
    assert code in FILE_CODES


@pytest.mark.parametrize(("content", "code", "words"), CASES.values(), ids=CASES.keys())
def test_a_damaged_file_is_named(tmp_path, content, code, words):
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(HeaderProblem) as caught:
        read_header(path)
    assert_one_clear_line(caught.value, code, words)
    assert caught.value.message.startswith(f"{path}: ")


@pytest.mark.parametrize(("content", "code", "words"), {**NOT_GGUF, **CLAIMS, **METADATA}.values())
def test_the_same_is_said_when_nobody_knows_the_size(content, code, words):
    with pytest.raises(HeaderProblem) as caught:
        parse_header(BytesSource(content, size_known=False), "https://host/model.gguf")
    assert_one_clear_line(caught.value, code, words)


def test_every_cut_of_a_whole_model_is_refused(tmp_path):
    content = write_tiny_model(tmp_path / "m.gguf", vocabulary=bpe_vocabulary(64), layers=1).read_bytes()
    header = parse_header(BytesSource(content), "m")
    cuts = [*range(0, header.header_bytes, 7), *range(header.header_bytes, len(content), 997)]
    for cut in cuts:
        with pytest.raises(HeaderProblem) as caught:
            parse_header(BytesSource(content[:cut]), "m")
        assert caught.value.code in ("file.truncated", "file.empty")


def test_a_claim_costs_neither_memory_nor_time():
    content = header_bytes(ARCHITECTURE | {"tokenizer.ggml.tokens": claimed_array(ValueType.STRING, 2**24)})
    source = BytesSource(content + bytes(2**20))
    tracemalloc.start()
    started = time.perf_counter()
    with pytest.raises(HeaderProblem):
        parse_header(source, "m")
    assert time.perf_counter() - started < 1
    assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
    tracemalloc.stop()


def test_a_path_that_is_no_file(tmp_path):
    for path, code in ((tmp_path / "none.gguf", "file.missing"), (tmp_path, "file.directory")):
        with pytest.raises(HeaderProblem) as caught:
            read_header(path)
        assert_one_clear_line(caught.value, code, str(path))


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in the file system")
def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(HeaderProblem, match="not a regular file") as caught:
        read_header(tmp_path / "pipe.gguf")
    assert caught.value.code == "file.unreadable"


def test_an_unreadable_file_gives_the_systems_reason(tmp_path, monkeypatch):
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes(ARCHITECTURE))

    def denied(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", denied)
    with pytest.raises(HeaderProblem, match="cannot be read: Permission denied") as caught:
        read_header(path)
    assert caught.value.code == "file.unreadable"


def test_names_from_a_file_cannot_break_the_line():
    key = "a\nb\x1b[31m" + "x" * 500
    with pytest.raises(HeaderProblem) as caught:
        parse_header(BytesSource(gguf_bytes([(key, 1), (key, 2)])), "m")
    assert_one_clear_line(caught.value, "file.duplicate_key", r"a\nb\x1b[31mxxx")
    assert printable("ü" * 70) == "ü" * 59 + "…"
    assert printable(b"\xffa") == "\\xffa"
    assert typed(ValueType.BOOL, True).payload == b"\x01"
