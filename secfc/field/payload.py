"""Payloads of messages, with free bytes before them so that a header is added without a copy."""

from typing import Self

import numpy as np

HEADROOM = 64  # bytes reserved before a payload: more than any header needs


class Payload:
    """The payload of a message. Runs have n**2 of them, so they are small and made fast."""

    __slots__ = "_whole", "payload"

    def __init__(self, *, payload: bytes | bytearray | memoryview) -> None:
        self.payload = payload
        self._whole: memoryview | None = None  # with the room, until it is used

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={len(self.payload)})"

    @classmethod
    def _with_room(cls, size: int, **fields: object) -> Self:
        """An uninitialised payload of this many bytes, with headroom for a header."""
        whole = np.empty(HEADROOM + size, dtype=np.uint8).data
        made = cls(payload=whole[HEADROOM:], **fields)
        made._whole = whole
        return made

    def framed(self, header: bytes) -> bytes | memoryview:
        """The header and the payload as one contiguous buffer.

        The first call copies nothing if there is headroom. Later changes to the payload then change the
        returned buffer.
        """
        whole, self._whole = self._whole, None
        if whole is None or len(header) > HEADROOM:
            return b"".join((header, self.payload))
        whole[HEADROOM - len(header) : HEADROOM] = header
        return whole[HEADROOM - len(header) :]
