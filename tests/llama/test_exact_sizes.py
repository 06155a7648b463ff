"""Reading sizes out of llama.cpp's log."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdec_cli.errors import SpecdecError
from specdec_cli.llama.exact import exact_sizes, parse_sizes
from specdec_cli.settings import ContextSettings

MIB = 1 << 20
LOG = """\
load_tensors: layer   0 assigned to device CPU, is_swa = 0
load_tensors: layer   1 assigned to device CUDA0, is_swa = 1
load_tensors: layer   2 assigned to device CUDA0, is_swa = 0
llama_context:        CPU  output buffer size =     0.50 MiB
llama_kv_cache_iswa: creating non-SWA KV cache, size = 4096 cells
llama_kv_cache: layer   0: dev = CPU
llama_kv_cache: layer   1: filtered
llama_kv_cache:        CPU KV buffer size =     0.00 MiB
llama_kv_cache: size =   16.00 MiB (  4096 cells,   1 layers,  1/1 seqs), K (f16):    8.00 MiB, V (f16):    8.00 MiB
llama_kv_cache: layer   1: dev = CUDA0
llama_kv_cache: layer   2: dev = CPU
llama_kv_cache: size =    3.00 MiB (  1024 cells,   2 layers,  1/1 seqs), K (f16):    1.50 MiB, V (f16):    1.50 MiB
llama_memory_recurrent, layer   2: dev = CUDA0
llama_memory_recurrent: size =    2.00 MiB (     1 cells,   3 layers,  1 seqs  0 rs_seq), R (f32):    0.00 MiB
sched_reserve:      CUDA0 compute buffer size =   100.25 MiB
sched_reserve:  CUDA_Host compute buffer size =     8.00 MiB
"""


def test_sizes_by_device() -> None:
    sizes = parse_sizes(LOG.splitlines(), 7 * MIB)
    assert sizes.layers_by_device == {"CPU": 1, "CUDA0": 2}
    assert sizes.cache_by_device == {"CPU": round(17.5 * MIB), "CUDA0": round(3.5 * MIB)}
    assert sizes.compute_by_device == {"CPU": MIB // 2, "CUDA0": round(100.25 * MIB), "CUDA_Host": 8 * MIB}
    assert sizes.total == 7 * MIB + sizes.cache + sizes.compute


def test_no_lines_no_sizes() -> None:
    assert parse_sizes([], 5).total == 5


@pytest.mark.real
def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(SpecdecError, match=r"broken\.gguf cannot be read"):
        exact_sizes(path, ContextSettings(), 1)
