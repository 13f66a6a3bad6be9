"""Labels packed in as few bits as they need, for assignments and results."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from secfc.errors import MessageError
from secfc.field.array_types import Labels

_EIGHT = 8

_BLOCK = 1 << 11
"""Groups of eight labels unpacked at a time, so that checking packed labels takes little memory."""

FEW = 1 << 18
"""Of so many labels, parties of one process keep what they unpacked: 1 MiB."""

Packed = bytes | memoryview
Small = NDArray[np.uint16]
Octets = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True, eq=False)
class PackedLabels:
    """Checked labels, still packed as received: unpacked, a label of one bit takes 32 times the memory."""

    payload: Packed = field(repr=False)  # `packed_size` bytes
    size: int  # labels
    largest: int  # largest possible label
    none: bool  # whether `largest` stands for -1, "in no set"

    def __post_init__(self) -> None:
        bits = bits_of(self.largest)
        # If no label of this many bits is too large, only padding in the last group can be wrong.
        first = (self.size - 1) // _EIGHT if self.largest == (1 << bits) - 1 and self.size else 0
        for _, labels in _blocks(self.payload, self.size, bits, first=first):
            if labels.max() > self.largest:
                raise MessageError(f"a label is above {self.largest}, the largest there is")

    @classmethod
    def of(cls, labels: Labels, largest: int, *, none: bool) -> "PackedLabels":
        """Pack labels 0 to `largest`. With `none`, `largest` stands for -1, "in no set"."""
        values = np.where(labels < 0, largest, labels) if none else labels
        payload = pack_labels(values.astype(np.uint16), bits_of(largest))
        return cls(payload=payload, size=labels.size, largest=largest, none=none)

    def unpack(self) -> Labels:
        """The labels, shape (size,), int32. Few labels are unpacked once and copied."""
        return self._few.copy() if self.size <= FEW else self._unpacked()

    @cached_property
    def _few(self) -> Labels:
        return self._unpacked()

    def _unpacked(self) -> Labels:
        whole = np.empty(self.size, dtype=np.int32)
        for first, labels in _blocks(self.payload, self.size, bits_of(self.largest)):
            whole[first : first + labels.size] = labels
        if self.none:
            whole[whole == self.largest] = -1
        return whole


def labels_of(labels: Labels | PackedLabels) -> Labels:
    """The labels, unpacked if they are packed."""
    return labels.unpack() if isinstance(labels, PackedLabels) else labels


def bits_of(largest: int) -> int:
    """Bits of labels 0 to `largest`, at least one."""
    return max(1, largest.bit_length())


def packed_size(count: int, bits: int) -> int:
    """Bytes of `count` labels of `bits` bits: eight labels take `bits` bytes."""
    return -(-count // _EIGHT) * bits


def pack_labels(labels: Small, bits: int) -> bytes:
    """Pack eight labels of `bits` bits (1 to 16) in `bits` bytes, little endian, the last eight zero-padded.

    Beyond 8 bits, the low bytes of all labels come first, then their high bits, packed the same way.
    """
    octets = np.zeros((-(-labels.size // _EIGHT) * _EIGHT, 2), dtype=np.uint8)
    octets.view("<u2")[: labels.size, 0] = labels
    return b"".join(_pack(octets[:, at], width).tobytes() for at, width in enumerate(_planes(bits)))


def _pack(plane: Octets, width: int) -> Octets:
    """The low `width` bits of each octet, concatenated."""
    if width == _EIGHT:
        return plane
    eights = plane.reshape(-1, _EIGHT)
    words = eights[:, 0].astype("<u8")
    for at in range(1, _EIGHT):
        words |= eights[:, at].astype("<u8") << np.uint64(width * at)
    return words.view(np.uint8).reshape(-1, _EIGHT)[:, :width]


def _unpack(packed: Octets, width: int) -> Octets:
    """The inverse of `_pack`."""
    if width == _EIGHT:
        return packed
    octets = np.zeros((packed.size // width, _EIGHT), dtype=np.uint8)
    octets[:, :width] = packed.reshape(-1, width)
    words, low = octets.view("<u8")[:, 0], np.uint8((1 << width) - 1)
    plane = np.empty_like(octets)
    for at in range(_EIGHT):
        plane[:, at] = (words >> np.uint64(width * at)).astype(np.uint8) & low
    return plane.reshape(-1)


def _blocks(packed: Packed, count: int, bits: int, *, first: int = 0) -> Iterator[tuple[int, Small]]:
    """Unpack labels block by block, each with the number of its first label.

    It begins with group `first` of eight labels. MessageError unless padding bits are 0.
    """
    eights, octets = -(-count // _EIGHT), np.frombuffer(packed, dtype=np.uint8)
    for start in range(first, eights, _BLOCK):
        stop = min(start + _BLOCK, eights)
        labels, before = np.zeros((stop - start) * _EIGHT, dtype=np.uint16), 0
        for at, width in enumerate(_planes(bits)):
            plane = _unpack(octets[before + start * width : before + stop * width], width)
            labels |= plane.astype(np.uint16) << (_EIGHT * at)
            before += eights * width
        left = count - start * _EIGHT
        if left < labels.size and labels[left:].any():
            raise MessageError("bits behind the last label are not zero")
        yield start * _EIGHT, labels[:left]


def _planes(bits: int) -> list[int]:
    """Number of bits of the low bytes of labels, then of their high bytes."""
    return [min(_EIGHT, bits - shift) for shift in range(0, bits, _EIGHT)]
