"""The places of the three that compare, and buffers for their gates."""

from collections.abc import Hashable
from enum import StrEnum
from math import prod

import numpy as np

from secfc.kernels.interface import Words


class Comparer(StrEnum):
    """The three parties that compare. No two of them may collude."""

    DEALER = "dealer"
    E0 = "first evaluator"
    E1 = "second evaluator"


Data = bytes | bytearray | memoryview


class Arena:
    """Named buffers that grow as needed, for one party. They hold masks, so the repr hides them.

    Every round uses them again: new pages cost more than the gates that fill them.
    """

    def __init__(self) -> None:
        self._buffers: dict[Hashable, Words] = {}

    def __repr__(self) -> str:
        return f"Arena(buffers={len(self._buffers)})"

    def words(self, name: Hashable, shape: tuple[int, ...]) -> Words:
        """Contiguous uninitialised words. They overwrite the words taken before with this name."""
        size = prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name] = np.empty(size, dtype=np.uint64)
        return buffer[:size].reshape(shape)
