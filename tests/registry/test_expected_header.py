"""The header of a model that is not made yet is the one llama.cpp will write, within 1 %."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdec_cli.gguf.reader import read_header
from specdec_cli.gguf.types import GgmlType
from specdec_cli.llama.backend import LlamaBackend
from specdec_cli.registry.expected_header import expected_header
from specdec_cli.registry.sources import DERIVED_TYPES
from tests.support.gguf_files import write_gguf
from tests.support.tiny_models import architecture_metadata, bpe_vocabulary, llama_tensors


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("width", [96, 256])
def test_what_llama_cpp_makes_is_what_was_told(tmp_path: Path, tied: bool, width: int) -> None:
    words = bpe_vocabulary(512)
    keys = architecture_metadata(embedding=width, feed_forward=2 * width) | words
    tensors = llama_tensors(512, embedding=width, feed_forward=2 * width, tied=tied, ggml_type=GgmlType.F16)
    base = write_gguf(tmp_path / "base.gguf", keys, tensors)
    for ftype in DERIVED_TYPES:
        made = tmp_path / f"{ftype}.gguf"
        LlamaBackend().quantize(base, made, ftype)
        told, real = expected_header(read_header(base), ftype, str(made)), read_header(made)
        assert told.quantization == real.quantization == ftype
        assert told.weight_bytes == pytest.approx(real.weight_bytes, rel=0.01), ftype
        assert told.n_parameters == real.n_parameters
        assert told.vocabulary is not None
        assert real.vocabulary is not None
        assert told.vocabulary.tokens == real.vocabulary.tokens
