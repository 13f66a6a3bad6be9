"""Letters of a program in one message: several places and bytes, one after another.

A letter is its step (4 bytes), the length of its tag (1), the number of its bytes (4), the digest of what its
sender saw opened (32), the tag, and the bytes.
"""

import struct
from collections.abc import Iterator, Sequence

from secfc.comparing.role import Data
from secfc.errors import MessageError
from secfc.protocol.parties.inbox import Place

_HEAD = struct.Struct("<IBI32s")

Letter = tuple[Place, Data]


def packed(letters: Sequence[Letter]) -> bytes:
    """The bytes of letters."""
    parts: list[Data] = []
    for place, data in letters:
        tag = place.tag.encode()
        parts += [_HEAD.pack(place.step, len(tag), len(data), place.seen), tag, data]
    return b"".join(parts)


def letters_of(data: Data) -> Iterator[Letter]:
    """The letters of these bytes. MessageError for bytes that are none."""
    view, at = memoryview(data), 0
    while at < len(view):
        start = at + _HEAD.size
        if start > len(view):
            raise MessageError(f"Step: {len(view) - at} bytes are no letter")
        step, length, size, seen = _HEAD.unpack_from(view, at)
        tag, at = bytes(view[start : start + length]), start + length + size
        if at > len(view) or not tag.isascii():
            raise MessageError(f"Step: a letter of step {step} is cut, or its tag is no text")
        yield Place(step, tag.decode(), seen), view[start + length : at]
