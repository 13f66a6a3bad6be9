"""Letters of a program in one message: several places and bytes, one after another.

A letter is its step (4 bytes), the length of its tag (4), the number of its bytes (8), the digest of what its
sender saw opened (32), the tag, and the bytes. Tag and bytes are filled up with zeros to a multiple of 8, so
that words among the bytes are aligned.
"""

import struct
from collections.abc import Iterator, Sequence

from secfc.comparing.role import Data
from secfc.errors import MessageError
from secfc.protocol.parties.inbox import Place

_HEAD = struct.Struct("<IIQ32s")

Letter = tuple[Place, Data]


def parts_of(letters: Sequence[Letter]) -> list[Data]:
    """The bytes of letters, in parts that follow one another."""
    parts: list[Data] = []
    for place, data in letters:
        tag = place.tag.encode()
        parts += [_HEAD.pack(place.step, len(tag), len(data), place.seen) + tag + _filling(len(tag)), data]
        if len(data) % 8:
            parts.append(_filling(len(data)))
    return parts


def packed(letters: Sequence[Letter]) -> bytes:
    """The bytes of letters."""
    return b"".join(parts_of(letters))


def letters_of(data: Data) -> Iterator[Letter]:
    """The letters of these bytes. MessageError for bytes that are none."""
    view, at = memoryview(data), 0
    while at < len(view):
        start = at + _HEAD.size
        if start > len(view):
            raise MessageError(f"Step: {len(view) - at} bytes are no letter")
        step, length, size, seen = _HEAD.unpack_from(view, at)
        begin = start + length + -length % 8
        end = begin + size
        at = end + -size % 8
        tag = bytes(view[start : start + length])
        if at > len(view) or not tag.isascii():
            raise MessageError(f"Step: a letter of step {step} is cut, or its tag is no text")
        if any(view[start + length : begin]) or any(view[end:at]):
            raise MessageError(f"Step: a letter of step {step} is not filled up with zeros")
        yield Place(step, tag.decode(), seen), view[begin:end]


def _filling(size: int) -> bytes:
    return bytes(-size % 8)
