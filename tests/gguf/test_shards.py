"""Models in several files: found from any part, summed, and refused by name when a part is wrong."""

from dataclasses import replace

import pytest

from specdec_cli.gguf.reader import HeaderProblem, parse_header, read_header
from specdec_cli.gguf.shards import join_shards, shard_names, split_of
from specdec_cli.gguf.types import ValueType
from tests.support.gguf_files import BytesSource, gguf_bytes, split_into_shards, typed, write_gguf
from tests.support.tiny_models import architecture_metadata, bpe_vocabulary, llama_tensors, write_tiny_model

TENSORS = llama_tensors(64)
METADATA = architecture_metadata() | bpe_vocabulary(64)


@pytest.fixture
def shards(tmp_path):
    return split_into_shards(tmp_path / "model.v2", METADATA, TENSORS, 3)


def refusal(path) -> HeaderProblem:
    with pytest.raises(HeaderProblem) as caught:
        read_header(path)
    assert caught.value.message.isprintable()
    return caught.value


@pytest.mark.parametrize("given", [0, 1, 2])
def test_any_shard_leads_to_all(tmp_path, shards, given):
    header = read_header(shards[given])
    whole = read_header(write_tiny_model(tmp_path / "whole.gguf", vocabulary=bpe_vocabulary(64)))
    assert header.source == str(shards[0])
    assert [shard.source for shard in header.shards] == [str(path) for path in shards]
    assert [t.name for t in header.tensors] == [t.name for t in whole.tensors]
    assert header.weight_bytes == whole.weight_bytes
    assert header.file_bytes == sum(path.stat().st_size for path in shards)
    assert header.header_bytes == sum(shard.header_bytes for shard in header.shards)
    assert header.vocabulary.tokens == whole.vocabulary.tokens
    assert header.architecture == "llama"
    assert [t.shard for t in header.tensors] == sorted(t.shard for t in header.tensors)
    assert {t.shard for t in header.tensors} == {0, 1, 2}
    assert [shard.n_tensors for shard in header.shards] == [
        sum(t.shard == number for t in header.tensors) for number in range(3)
    ]


@pytest.mark.parametrize(("given", "gone"), [(0, 1), (0, 2), (1, 0), (2, 1)])
def test_a_missing_shard_is_named(shards, given, gone):
    shards[gone].unlink()
    problem = refusal(shards[given])
    assert problem.code == "file.shard_missing"
    assert f"missing: {shards[gone].name}" in problem.message
    assert shards[given].name in problem.message
    assert problem.hint


def test_many_missing_shards_are_counted_not_listed(tmp_path):
    first, *others = split_into_shards(tmp_path / "m", METADATA, TENSORS, 8)
    for path in others:
        path.unlink()
    problem = refusal(first)
    assert "m-00004-of-00008.gguf and 4 more" in problem.message


def test_a_renamed_shard_says_which_name_it_needs(tmp_path, shards):
    problem = refusal(shards[0].rename(tmp_path / "renamed.gguf"))
    assert problem.code == "file.shard_name"
    assert "part 1 of 3" in problem.message
    assert "-00001-of-00003.gguf" in problem.hint


def test_a_shard_under_the_name_of_another_is_noticed(shards):
    shards[1].write_bytes(shards[2].read_bytes())
    problem = refusal(shards[0])
    assert problem.code == "file.shard_mismatch"
    assert "part 3 of 3, not part 2 of 3" in problem.message
    assert refusal(shards[1]).code == "file.shard_name"


def test_a_whole_model_under_the_name_of_a_shard_is_noticed(shards):
    write_gguf(shards[1], METADATA, TENSORS)
    problem = refusal(shards[0])
    assert problem.code == "file.shard_mismatch"
    assert "a model in one file" in problem.message


def test_shards_of_another_version_of_the_model_are_noticed(tmp_path, shards):
    (tmp_path / "other").mkdir()
    other = split_into_shards(tmp_path / "other" / "m", METADATA, TENSORS[:-2], 3)
    shards[2].write_bytes(other[2].read_bytes())
    problem = refusal(shards[0])
    assert problem.code == "file.shard_mismatch"
    assert f"where the model has {len(TENSORS)}" in problem.message


def test_a_damaged_or_cut_shard_is_the_one_that_is_named(shards):
    shards[2].write_bytes(shards[2].read_bytes()[:-40])
    problem = refusal(shards[0])
    assert problem.code == "file.truncated"
    assert problem.message.startswith(f"{shards[2]}: ")


def test_shards_joined_with_cat_are_recognised(tmp_path, shards):
    glued = tmp_path / "glued.gguf"
    glued.write_bytes(b"".join(path.read_bytes() for path in shards))
    problem = refusal(glued)
    assert problem.code == "file.glued"
    assert problem.hint


def test_a_first_shard_without_tensors(tmp_path):
    first = tmp_path / "m-00001-of-00002.gguf"
    split = {
        "split.count": typed(ValueType.UINT16, 2),
        "split.tensors.count": typed(ValueType.INT32, len(TENSORS)),
    }
    write_gguf(first, METADATA | split | {"split.no": typed(ValueType.UINT16, 0)})
    write_gguf(tmp_path / "m-00002-of-00002.gguf", split | {"split.no": typed(ValueType.UINT16, 1)}, TENSORS)
    header = read_header(first)
    assert len(header.tensors) == len(TENSORS)
    assert {t.shard for t in header.tensors} == {1}


def test_what_asserts_in_llama_cpp_is_refused_for_joined_models_too(tmp_path):
    metadata = METADATA | {"llama.block_count": 513}
    split = {"split.count": typed(ValueType.UINT16, 2)}
    write_gguf(
        tmp_path / "m-00001-of-00002.gguf", metadata | split | {"split.no": typed(ValueType.UINT16, 0)}
    )
    write_gguf(tmp_path / "m-00002-of-00002.gguf", split | {"split.no": typed(ValueType.UINT16, 1)}, TENSORS)
    assert "claims 513 layers" in refusal(tmp_path / "m-00001-of-00002.gguf").message


def test_a_split_of_one_is_no_split(tmp_path):
    split = {"split.count": typed(ValueType.UINT16, 1), "split.no": typed(ValueType.UINT16, 0)}
    header = read_header(write_gguf(tmp_path / "any name.gguf", METADATA | split, TENSORS))
    assert split_of(header) is None
    assert shard_names(header, "any name.gguf") == ("any name.gguf",)


@pytest.mark.parametrize("number", [3, 2**32 - 1])
def test_a_number_beyond_the_count_is_damage(tmp_path, number):
    problem = refusal(write_gguf(tmp_path / "m.gguf", METADATA | {"split.count": 3, "split.no": number}))
    assert problem.code == "file.damaged"
    assert f"part {number} of 3" in problem.message


def test_remote_shards_are_joined_by_whoever_fetched_their_headers():
    split = {"split.count": 2, "split.tensors.count": 2}
    parts = [
        gguf_bytes(METADATA | split | {"split.no": 0}, TENSORS[:1]),
        gguf_bytes(split | {"split.no": 1}, TENSORS[1:2]),
    ]
    headers = [parse_header(BytesSource(part), f"https://host/{n}") for n, part in enumerate(parts)]
    assert shard_names(headers[0], "big-00001-of-00002.gguf") == (
        "big-00001-of-00002.gguf",
        "big-00002-of-00002.gguf",
    )
    assert join_shards(headers).file_bytes == sum(map(len, parts))
    assert join_shards([headers[0], replace(headers[1], file_bytes=None)]).file_bytes is None
    with pytest.raises(HeaderProblem, match="not part 1 of 2"):
        join_shards(headers[::-1])
