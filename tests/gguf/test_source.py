"""The window over a source that can grow: what a remote header costs, and how sources may behave."""

import pytest

from specdec_cli.errors import SpecdecError
from specdec_cli.gguf.reader import HeaderProblem, parse_header
from specdec_cli.gguf.source import STEP_BYTES, FileSource
from tests.support.gguf_files import BytesSource, TensorSpec, gguf_bytes, write_gguf
from tests.support.tiny_models import architecture_metadata, bpe_vocabulary, write_tiny_model

MIB = 1 << 20


def file_with_vocabulary(n_tokens: int, data_bytes: int) -> bytes:
    words = bpe_vocabulary(n_tokens) | {"tokenizer.ggml.scores": [0.0] * n_tokens}
    tensors = [TensorSpec("t", (data_bytes // 4,), data=bytes(data_bytes))]
    return gguf_bytes(architecture_metadata() | words, tensors)


@pytest.mark.parametrize("size_known", [True, False])
@pytest.mark.parametrize("n_tokens", [300, 30_000, 200_000])
def test_a_remote_header_costs_itself_and_less_than_a_mebibyte_more(n_tokens, size_known):
    source = BytesSource(file_with_vocabulary(n_tokens, 4 * MIB), size_known=size_known)
    header = parse_header(source, "https://host/m.gguf")
    assert header.vocab_size == n_tokens
    assert (
        header.header_bytes
        <= source.bytes_read
        <= header.header_bytes + STEP_BYTES
        < header.header_bytes + MIB
    )
    assert source.reads <= 12
    assert header.file_bytes == (len(source.content) if size_known else None)


def test_a_source_may_hand_out_little_at_a_time(tmp_path):
    content = write_tiny_model(tmp_path / "m.gguf", layers=1).read_bytes()
    whole = parse_header(BytesSource(content), "m")
    drop_by_drop = parse_header(BytesSource(content, most_per_read=97), "m")
    assert drop_by_drop.tensors == whole.tensors
    assert dict(drop_by_drop.metadata) == dict(whole.metadata)
    assert drop_by_drop.vocabulary.tokens == whole.vocabulary.tokens


def test_a_source_that_promises_more_than_it_has_is_a_truncated_file():
    class Liar(BytesSource):
        size = 10 * MIB

        def __init__(self, content: bytes) -> None:
            self.content, self.most_per_read, self.bytes_read, self.reads = content, None, 0, 0

    content = gguf_bytes(architecture_metadata() | bpe_vocabulary())
    with pytest.raises(HeaderProblem, match="ends after 2,000 bytes, inside its header") as caught:
        parse_header(Liar(content[:2000]), "m")
    assert caught.value.code == "file.truncated"


def test_what_a_source_raises_passes_through():
    class Broken(BytesSource):
        def read(self, offset: int, length: int) -> bytes:
            raise SpecdecError("the server hung up", code="network.cut")

    with pytest.raises(SpecdecError, match="the server hung up"):
        parse_header(Broken(b"GGUF"), "m")


def test_a_file_that_shrinks_while_it_is_read_is_a_truncated_file(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", architecture_metadata() | bpe_vocabulary())
    with FileSource(path) as source:
        path.write_bytes(path.read_bytes()[:1000])
        with pytest.raises(HeaderProblem, match="ends after 1,000 bytes"):
            parse_header(source, str(path))


def test_only_a_file_longer_than_its_header_says_is_read_at_its_end():
    content = file_with_vocabulary(300, 4 * MIB)
    exact, longer = BytesSource(content), BytesSource(content + bytes(100))
    parse_header(exact, "m")
    parse_header(longer, "m")
    assert (longer.bytes_read - exact.bytes_read, longer.reads - exact.reads) == (8, 2)
