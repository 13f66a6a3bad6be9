"""Memory for words that every round uses again: new pages cost more than the gates that fill them."""

from collections.abc import Hashable
from math import prod

import numpy as np

from secfc.kernels.interface import Words


class Arena:
    """Named buffers that grow as needed, for one role at a time. They hold masks, so the repr hides them."""

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
