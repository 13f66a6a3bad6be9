"""Reads the bytes of a message, and never beyond their end."""

import struct
from typing import Any

from secfc.errors import MessageError


class Reader:
    """Reads a message from the front. MessageError if bytes are missing."""

    def __init__(self, data: memoryview, *, at: int = 0) -> None:
        self._data, self._size = data, len(data)
        self._at = at

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        """Read the next values of this layout."""
        first, end = self._at, self._at + layout.size
        if end > self._size:
            raise self._truncated(end)
        self._at = end
        return layout.unpack_from(self._data, first)

    def take(self, size: int) -> memoryview:
        """Read the next `size` bytes, as a view."""
        first, end = self._at, self._at + size
        if end > self._size:
            raise self._truncated(end)
        self._at = end
        return self._data[first:end]

    def _truncated(self, end: int) -> MessageError:
        return MessageError(f"truncated message: {self._size} bytes, {end} needed")

    @property
    def left(self) -> int:
        """Number of bytes not yet read."""
        return self._size - self._at
