"""The text a sampler looks back on: a base that is shared, and the tokens tried on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt


class Continuation(Sequence[int]):
    """`base` followed by the tokens appended here; the base is neither copied nor changed.

    Judging a draft walks a few tokens beyond a text of thousands: each step looks at this.
    """

    def __init__(self, base: Sequence[int]) -> None:
        self._base = base
        self._extra: list[int] = []

    def append(self, token: int) -> None:
        """One more token after what is there."""
        self._extra.append(token)

    def __len__(self) -> int:
        return len(self._base) + len(self._extra)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...

    def __getitem__(self, index: int | slice) -> int | list[int]:
        split = len(self._base)
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return [self[i] for i in range(start, stop, step)]
            head = list(self._base[start : min(stop, split)]) if start < split else []
            return head + self._extra[max(start - split, 0) : max(stop - split, 0)]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._base[index] if index < split else self._extra[index - split]


def tail(history: Sequence[int], count: int) -> npt.NDArray[np.int64]:
    """The last `count` tokens as int64, oldest first; all of them when `count` is negative."""
    start = 0 if count < 0 else max(len(history) - count, 0)
    return np.asarray(history[start:], dtype=np.int64)
