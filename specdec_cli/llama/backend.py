"""llama.cpp as `protocols.Backend`: what it computes on, loading, quantizing."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from specdec_cli.errors import SpecdecError
from specdec_cli.llama.devices import list_devices
from specdec_cli.llama.log import captured_log, native_reason
from specdec_cli.llama.model import LlamaModel
from specdec_cli.llama.native import binding_version, native
from specdec_cli.protocols import BackendDevice
from specdec_cli.settings import ContextSettings

_FTYPES = {
    "F32": "LLAMA_FTYPE_ALL_F32",
    "F16": "LLAMA_FTYPE_MOSTLY_F16",
    "BF16": "LLAMA_FTYPE_MOSTLY_BF16",
    "Q8_0": "LLAMA_FTYPE_MOSTLY_Q8_0",
    "Q5_0": "LLAMA_FTYPE_MOSTLY_Q5_0",
    "Q5_1": "LLAMA_FTYPE_MOSTLY_Q5_1",
    "Q4_0": "LLAMA_FTYPE_MOSTLY_Q4_0",
    "Q4_1": "LLAMA_FTYPE_MOSTLY_Q4_1",
    "Q6_K": "LLAMA_FTYPE_MOSTLY_Q6_K",
    "Q5_K_M": "LLAMA_FTYPE_MOSTLY_Q5_K_M",
    "Q4_K_M": "LLAMA_FTYPE_MOSTLY_Q4_K_M",
}

_GPU_NAMES = {
    "CUDA": "CUDA",
    "MTL": "Metal",
    "METAL": "Metal",
    "VULKAN": "Vulkan",
    "ROCM": "ROCm",
    "SYCL": "SYCL",
}


class LlamaBackend:
    """The native engine. Implements `protocols.Backend`."""

    @property
    def name(self) -> str:
        """CPU, or the kind of the first GPU device that llama.cpp offers."""
        for device in list_devices():
            if device.kind in ("gpu", "igpu"):
                stem = device.name.rstrip("0123456789").upper()
                return _GPU_NAMES.get(stem, device.name)
        return "CPU"

    @property
    def version(self) -> str:
        """Version of llama-cpp-python."""
        return binding_version()

    def devices(self) -> tuple[BackendDevice, ...]:
        """Every device, the CPU included."""
        return list_devices()

    def load(
        self, path: Path, settings: ContextSettings, progress: Callable[[float], bool] | None = None
    ) -> LlamaModel:
        """Load weights. Raises `SpecdecError` with llama.cpp's own reason, `KeyboardInterrupt` when stopped."""
        library = native()
        parameters = library.llama_model_default_params()
        parameters.n_gpu_layers = settings.gpu_layers
        parameters.load_mtp = False
        if not settings.memory_map:
            parameters.load_mode = library.LLAMA_LOAD_MODE_NONE

        stopped = False

        def report(fraction: float, _data: ctypes.c_void_p) -> bool:
            nonlocal stopped
            stopped = progress is not None and not progress(fraction)
            return not stopped

        callback = library.llama_progress_callback(report)
        parameters.progress_callback = callback
        with captured_log() as lines:
            pointer = library.llama_model_load_from_file(str(path).encode("utf-8"), parameters)
        if stopped:
            raise KeyboardInterrupt
        if not pointer:
            raise SpecdecError(f"{path.name} cannot be loaded: {native_reason(lines)}", code="file.load")
        return LlamaModel(pointer, path)

    def quantize(self, source: Path, destination: Path, quantization: str) -> None:
        """Write `source` again in another quantization; an already quantized source is dequantized first."""
        library = native()
        if quantization not in _FTYPES:
            raise SpecdecError(
                f"{quantization} is not a quantization specdec can make", hint="one of " + ", ".join(_FTYPES)
            )
        parameters = library.llama_model_quantize_default_params()
        parameters.ftype = getattr(library, _FTYPES[quantization])
        parameters.allow_requantize = True
        with captured_log() as lines:
            status = library.llama_model_quantize(
                str(source).encode("utf-8"), str(destination).encode("utf-8"), ctypes.byref(parameters)
            )
        if status != 0:
            raise SpecdecError(f"{source.name} cannot be made {quantization}: {native_reason(lines)}")
