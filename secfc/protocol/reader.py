"""Takes the bytes of a message apart, and never reads beyond their end."""

import struct
from typing import Any

from secfc.errors import MessageError


class Reader:
    """Takes a message apart from the front; every shortage is a MessageError."""

    def __init__(self, data: memoryview, *, at: int = 0) -> None:
        self._data, self._size = data, len(data)
        self._at = at

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        """The next values of this layout."""
        return layout.unpack_from(self._data, self._pass(layout.size))

    def take(self, size: int) -> memoryview:
        """The next bytes."""
        first = self._pass(size)
        return self._data[first : first + size]

    def _pass(self, size: int) -> int:
        """Where the next bytes begin, which are taken now."""
        first, end = self._at, self._at + size
        if end > self._size:
            raise MessageError(f"truncated message: {self._size} bytes, {end} needed")
        self._at = end
        return first

    @property
    def left(self) -> int:
        """Bytes that are not taken."""
        return self._size - self._at
