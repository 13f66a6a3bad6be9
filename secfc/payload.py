"""Payloads of messages, with free bytes before them so that a header is added without a copy."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

HEADROOM = 64  # bytes reserved before a payload: more than any header needs


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Payload:
    """The payload of a message."""

    payload: bytes | bytearray | memoryview
    _room: list[memoryview] = field(default_factory=list, init=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={len(self.payload)})"

    @classmethod
    def _with_room(cls, size: int, **fields: object) -> Self:
        """An uninitialised payload of this many bytes, with headroom for a header."""
        whole = np.empty(HEADROOM + size, dtype=np.uint8).data
        made = cls(payload=whole[HEADROOM:], **fields)
        made._room.append(whole)
        return made

    def framed(self, header: bytes) -> bytes | memoryview:
        """The header and the payload as one contiguous buffer.

        The first call copies nothing if there is headroom. Later changes to the payload then change the
        returned buffer.
        """
        if not self._room or len(header) > HEADROOM:
            return b"".join((header, self.payload))
        whole = self._room.pop()
        whole[HEADROOM - len(header) : HEADROOM] = header
        return whole[HEADROOM - len(header) :]
