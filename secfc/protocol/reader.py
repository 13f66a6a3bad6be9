"""Takes the bytes of a message apart, and never reads beyond their end."""

import struct
from typing import Any

from secfc.errors import MessageError


class Reader:
    """Takes a message apart from the front; every shortage is a MessageError."""

    def __init__(self, data: memoryview, *, at: int = 0) -> None:
        self._data = data
        self._at = at

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        """The next values of this layout."""
        return layout.unpack(self.take(layout.size))

    def take(self, size: int) -> memoryview:
        """The next bytes."""
        if self._at + size > len(self._data):
            raise MessageError(f"truncated message: {len(self._data)} bytes, {self._at + size} needed")
        part = self._data[self._at : self._at + size]
        self._at += size
        return part

    @property
    def left(self) -> int:
        """Bytes that are not taken."""
        return len(self._data) - self._at
