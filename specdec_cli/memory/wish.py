"""What is wished for one model: its shape, and how its context shall be made."""

from __future__ import annotations

from dataclasses import dataclass

from specdec_cli.memory.shape import ModelShape
from specdec_cli.settings import ContextSettings

_CONTEXT_STEP = 256


@dataclass(frozen=True)
class ModelWish:
    """One model and its context, as `LoadedModel.new_context` would make it."""

    shape: ModelShape
    settings: ContextSettings
    max_rows: int = 1
    """The most rows of logits one decode asks for: draft length + 1 for a target, 1 for a draft."""

    @property
    def cells(self) -> int:
        """Positions that llama.cpp allocates: the context rounded up to a multiple of 256."""
        return -(-self.settings.n_ctx // _CONTEXT_STEP) * _CONTEXT_STEP

    @property
    def batch(self) -> int:
        """Tokens of one native decode."""
        return max(1, min(self.settings.n_batch, self.settings.n_ctx), self.max_rows)

    @property
    def flash_attention(self) -> bool:
        """Whether attention runs fused. `auto` is taken as on, which is what every current backend does."""
        return self.settings.flash_attention != "off"

    @property
    def gpu_layers(self) -> int:
        """How many layers are offloaded, the output counted as one."""
        wished = self.settings.gpu_layers
        most = self.shape.offloadable_layers
        return most if wished < 0 else min(wished, most)
