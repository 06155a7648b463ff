"""The devices llama.cpp's own backends offer, with their memory."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from specdec_cli.llama.native import native_ggml
from specdec_cli.protocols import BackendDevice

_KINDS = {0: "cpu", 1: "gpu", 2: "igpu", 3: "accelerator", 4: "meta"}


@cache
def _device_functions() -> Any:
    library = native_ggml()
    library.ggml_backend_dev_count.restype = ctypes.c_size_t
    library.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
    library.ggml_backend_dev_get.restype = ctypes.c_void_p
    for name in ("ggml_backend_dev_name", "ggml_backend_dev_description"):
        function = getattr(library, name)
        function.argtypes, function.restype = [ctypes.c_void_p], ctypes.c_char_p
    library.ggml_backend_dev_type.argtypes = [ctypes.c_void_p]
    library.ggml_backend_dev_type.restype = ctypes.c_int
    size_pointer = ctypes.POINTER(ctypes.c_size_t)
    library.ggml_backend_dev_memory.argtypes = [ctypes.c_void_p, size_pointer, size_pointer]
    library.ggml_backend_dev_memory.restype = None
    return library


def list_devices() -> tuple[BackendDevice, ...]:
    """Every device, CPU included, with total and free bytes as the backend reports them now."""
    library = _device_functions()
    devices = []
    for index in range(library.ggml_backend_dev_count()):
        handle = library.ggml_backend_dev_get(index)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        library.ggml_backend_dev_memory(handle, ctypes.byref(free), ctypes.byref(total))
        devices.append(
            BackendDevice(
                name=(library.ggml_backend_dev_name(handle) or b"").decode("utf-8", "replace"),
                description=(library.ggml_backend_dev_description(handle) or b"").decode("utf-8", "replace"),
                kind=_KINDS.get(library.ggml_backend_dev_type(handle), "unknown"),
                total_bytes=total.value,
                free_bytes=free.value,
            )
        )
    return tuple(devices)
