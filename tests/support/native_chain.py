"""llama.cpp's own sampler chain, in the order of its `common` layer, run on rows of logits without a model."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import llama_cpp
import numpy as np

from specdec_cli.settings import SamplingSettings

WHOLE_TEXT = 4096
"""What -1 means for the look-back lengths: llama.cpp's tools put the context size in its place."""


@contextmanager
def native_chain(
    settings: SamplingSettings, n_vocab: int, history: Sequence[int], *, draws: bool = False
) -> Iterator[Any]:
    """A chain that has accepted `history`; with `draws` it ends in the sampler that picks a token."""
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())

    def add(sampler: Any) -> None:
        llama_cpp.llama_sampler_chain_add(chain, sampler)

    def length(count: int) -> int:
        return WHOLE_TEXT if count < 0 else count

    if settings.logit_bias:
        biases = (llama_cpp.llama_logit_bias * len(settings.logit_bias))(*settings.logit_bias)
        add(llama_cpp.llama_sampler_init_logit_bias(n_vocab, len(biases), biases))
    add(
        llama_cpp.llama_sampler_init_penalties(
            n_vocab,
            length(settings.penalty_last_n),
            settings.repeat_penalty,
            settings.frequency_penalty,
            settings.presence_penalty,
        )
    )
    add(
        llama_cpp.llama_sampler_init_dry(
            None,
            settings.dry_multiplier,
            settings.dry_base,
            settings.dry_allowed_length,
            length(settings.dry_penalty_last_n),
            None,
            0,
        )
    )
    add(llama_cpp.llama_sampler_init_top_k(settings.top_k))
    add(llama_cpp.llama_sampler_init_typical(settings.typical_p, 0))
    add(llama_cpp.llama_sampler_init_top_p(settings.top_p, 0))
    add(llama_cpp.llama_sampler_init_min_p(settings.min_p, 0))
    add(llama_cpp.llama_sampler_init_xtc(settings.xtc_probability, settings.xtc_threshold, 0, settings.seed))
    add(llama_cpp.llama_sampler_init_temp_ext(settings.temperature, 0.0, 1.0))
    if draws:
        add(llama_cpp.llama_sampler_init_dist(settings.seed))
    for token in history:
        llama_cpp.llama_sampler_accept(chain, token)
    try:
        yield chain
    finally:
        llama_cpp.llama_sampler_free(chain)


TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class NativeRow:
    """The candidate array that llama.cpp fills anew from every row of logits."""

    def __init__(self, n_vocab: int) -> None:
        self.buffer = np.zeros(n_vocab, dtype=TOKEN_DATA)
        self.ids = np.arange(n_vocab, dtype=np.int32)
        self.array = llama_cpp.llama_token_data_array()

    def apply(self, chain: Any, row: np.ndarray) -> None:
        self.buffer["id"] = self.ids
        self.buffer["logit"] = row
        self.array.data = self.buffer.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data))
        self.array.size = len(row)
        self.array.selected = -1
        self.array.sorted = False
        llama_cpp.llama_sampler_apply(chain, ctypes.byref(self.array))

    def candidates(self) -> np.ndarray:
        """What the chain left, as a copy. XTC moves the start of the array."""
        start = ctypes.addressof(self.array.data.contents) - self.buffer.ctypes.data
        first = start // TOKEN_DATA.itemsize
        return self.buffer[first : first + self.array.size].copy()


def native_distribution(
    settings: SamplingSettings, row: np.ndarray, history: Sequence[int]
) -> dict[int, float]:
    """Token id to probability, for every token that llama.cpp's chain leaves a positive probability."""
    native = NativeRow(len(row))
    with native_chain(settings, len(row), history) as chain:
        native.apply(chain, row)
        left = native.candidates()
    logits = left["logit"].astype(np.float64)
    weights = np.exp(logits - logits.max())
    probabilities = weights / weights.sum()
    return {int(t): float(p) for t, p in zip(left["id"], probabilities, strict=True) if p > 0}
