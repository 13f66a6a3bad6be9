"""Keys of the keystreams that the dealer shares with another party: one key per use, each used once.

::

    info = "secfc compare 2" | round (4) | part (4) | phase | purpose | index (4)
    key  = HKDF-SHA256(secret, salt = run, info)

with the length (1) before phase and purpose.
"""

import hmac
import struct
from functools import cache

from secfc.crypto.keystream import BitStream
from secfc.errors import SecFCError

KEY_BYTES = 32
_LABEL = b"secfc compare 2"
_PLACE = struct.Struct("<II")  # round, part
_INDEX = struct.Struct("<I")


class Keys:
    """Keys that the dealer and one other party derive for a part of a round.

    Only these two know the secret, of 32 bytes. Numbers are below 2**32. A
    part is a group of rows that is compared separately, so that no message is too large.
    """

    def __init__(self, secret: bytes, *, run: bytes, round_: int, phase: str, part: int = 0) -> None:
        if len(secret) != KEY_BYTES:
            raise ValueError(f"secret: {len(secret)} bytes given, {KEY_BYTES} needed")
        self._key = hmac.digest(run, secret, "sha256")  # the first step of HKDF (RFC 5869)
        self._info = _LABEL + _PLACE.pack(round_, part) + _framed(phase)
        self.used: dict[tuple[str, int], None] = {}
        """Purpose and index of every key so far, in order."""

    def __repr__(self) -> str:
        return f"Keys(used={len(self.used)})"

    def __reduce__(self) -> tuple[object, ...]:
        raise SecFCError("Keys cannot be copied or pickled: masks would repeat")

    def key(self, purpose: str, index: int) -> bytes:
        """The key of a use, 32 bytes. SecFCError if the same key was derived before.

        The index is that of the batch, or of the part of an answer, below 2**32.
        """
        if (purpose, index) in self.used:
            raise SecFCError(f"the key for {purpose} {index} was used: masks would repeat")
        self.used[purpose, index] = None
        info = self._info + _framed(purpose) + _INDEX.pack(index)
        return hmac.digest(self._key, info + b"\1", "sha256")  # the second step: 32 bytes are one block

    def bits(self, purpose: str, index: int) -> BitStream:
        """The keystream of a use, as bits."""
        return BitStream(self.key(purpose, index))


@cache
def _framed(text: str) -> bytes:
    return bytes([len(text.encode())]) + text.encode()
