"""Bytes made to be sent: a payload with room before it, where a header is put without a copy."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

HEADROOM = 64  # bytes before a payload that is made to be sent: more than any header


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Payload:
    """The bulk of a message."""

    payload: bytes | bytearray | memoryview
    _room: list[memoryview] = field(default_factory=list, init=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={len(self.payload)})"

    @classmethod
    def _with_room(cls, size: int, **fields: object) -> Self:
        """An uninitialised payload of this many bytes, with room for a header before."""
        whole = np.empty(HEADROOM + size, dtype=np.uint8).data
        made = cls(payload=whole[HEADROOM:], **fields)
        made._room.append(whole)
        return made

    def framed(self, header: bytes) -> bytes | memoryview:
        """The header and the payload as one stretch of bytes.

        The first time this copies nothing where there is room before the payload, so later changes to the
        payload would show in it.
        """
        if not self._room or len(header) > HEADROOM:
            return b"".join((header, self.payload))
        whole = self._room.pop()
        whole[HEADROOM - len(header) : HEADROOM] = header
        return whole[HEADROOM - len(header) :]
