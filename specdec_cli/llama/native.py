"""The one place where the native library is imported: on first use, quietly, with a clear error if it cannot."""

from __future__ import annotations

import importlib
import os
from functools import cache
from typing import Any

from specdec_cli.errors import SpecdecError
from specdec_cli.llama.log import install_log_callback

_SPIN_COUNT = "1000"
"""How long a thread of GNU OpenMP spins at a barrier before it sleeps (its own default is about 300 times that).

llama.cpp meets a barrier after every node of its graph. Where another process takes one of the cores, threads
that spin wait out whole time slices; measured figures stand in docs/log.md.
"""


def _spin_little() -> None:
    """Only before the library is loaded can GNU OpenMP be told; what the user has set stays."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", _SPIN_COUNT)


@cache
def native() -> Any:
    """The module of low-level functions, `llama_cpp.llama_cpp`, initialised. Untyped: it is C with names."""
    _spin_little()
    try:
        module = importlib.import_module("llama_cpp.llama_cpp")
    except (ImportError, OSError, RuntimeError, FileNotFoundError) as error:
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SpecdecError(
            f"llama.cpp's native library cannot be loaded: {first_line}",
            hint="reinstall it: pip install --force-reinstall --no-cache-dir llama-cpp-python",
            code="hardware.native_library",
        ) from error
    install_log_callback(module)
    module.llama_backend_init()
    return module


@cache
def native_ggml() -> Any:
    """The ggml library that carries the device list (`ggml_backend_dev_*`)."""
    native()
    return importlib.import_module("llama_cpp._ggml").libggml


def binding_version() -> str:
    """Version of llama-cpp-python, without loading the native library."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("llama-cpp-python")
    except PackageNotFoundError:
        return "unknown"
