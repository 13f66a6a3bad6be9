"""Labels in as many bits as they need: what assignments and results take on the wire."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from secfc.array_types import Labels
from secfc.errors import MessageError

_EIGHT = 8

_BLOCK = 1 << 9
"""Groups of eight labels that are unpacked at a time: checking packed labels takes little memory."""

Packed = bytes | memoryview
Small = NDArray[np.uint16]


@dataclass(frozen=True, kw_only=True, eq=False)
class PackedLabels:
    """Labels as they were received: a label of one bit takes 32 times as much once it is unpacked.

    Parameters
    ----------
    payload : bytes-like
        `packed_size` bytes.
    size : int
        Labels.
    largest : int
        The largest label there is.
    none : bool
        Whether that stands for "in no set", -1.

    Raises
    ------
    MessageError
        A label is too large, or bits behind the last one are not zero.
    """

    payload: Packed = field(repr=False)
    size: int
    largest: int
    none: bool

    def __post_init__(self) -> None:
        for _, labels in _blocks(self.payload, self.size, bits_of(self.largest)):
            if labels.max() > self.largest:
                raise MessageError(f"a label is above {self.largest}, the largest there is")

    def unpack(self) -> Labels:
        """The labels, shape (size,), int32."""
        whole = np.empty(self.size, dtype=np.int32)
        for first, labels in _blocks(self.payload, self.size, bits_of(self.largest)):
            whole[first : first + labels.size] = labels
        if self.none:
            whole[whole == self.largest] = -1
        return whole


def labels_of(labels: Labels | PackedLabels) -> Labels:
    """Labels that may still be packed."""
    return labels.unpack() if isinstance(labels, PackedLabels) else labels


def bits_of(largest: int) -> int:
    """Bits of labels 0 to `largest`, at least one."""
    return max(1, largest.bit_length())


def packed_size(count: int, bits: int) -> int:
    """Bytes of this many labels of so many bits: eight labels take a byte for each bit."""
    return -(-count // _EIGHT) * bits


def pack_labels(labels: Small, bits: int) -> bytes:
    """Eight labels of `bits` bits in `bits` bytes, little endian, the last eight padded with zeros.

    Beyond 8 bits, the low bytes of all labels come first and their high bits, packed the same way, behind.

    Parameters
    ----------
    labels : ndarray of shape (count,), uint16
        Below ``2**bits``.
    bits : int
        1 to 16.
    """
    whole = np.zeros(-(-labels.size // _EIGHT) * _EIGHT, dtype=np.uint16)
    whole[: labels.size] = labels
    parts = []
    for shift, width in _planes(bits):
        plane = (whole >> shift) & np.uint16((1 << width) - 1)
        groups = plane.reshape(-1, _EIGHT).astype("<u8")
        words = np.bitwise_or.reduce(groups << _shifts(width), axis=1)
        parts.append(words.view(np.uint8).reshape(-1, _EIGHT)[:, :width].tobytes())
    return b"".join(parts)


def _blocks(packed: Packed, count: int, bits: int) -> Iterator[tuple[int, Small]]:
    """What `pack_labels` packed, block by block with the first label's number; bits behind it must be 0."""
    eights, octets = -(-count // _EIGHT), np.frombuffer(packed, dtype=np.uint8)
    for start in range(0, eights, _BLOCK):
        stop = min(start + _BLOCK, eights)
        whole = np.zeros((stop - start, _EIGHT), dtype=np.uint16)
        first = 0
        for shift, width in _planes(bits):
            words = np.zeros((stop - start, _EIGHT), dtype=np.uint8)
            words[:, :width] = octets[first + start * width : first + stop * width].reshape(-1, width)
            first += eights * width
            part = (words.view("<u8") >> _shifts(width)) & np.uint64((1 << width) - 1)
            whole |= part.astype(np.uint16) << np.uint16(shift)
        labels = whole.reshape(-1)
        left = count - start * _EIGHT
        if labels[left:].any():
            raise MessageError("bits behind the last label are not zero")
        yield start * _EIGHT, labels[:left]


def _shifts(width: int) -> NDArray[np.uint64]:
    """First bits of eight labels in a word."""
    return np.arange(0, _EIGHT * width, width, dtype=np.uint64)


def _planes(bits: int) -> list[tuple[int, int]]:
    """First bit and width of what is packed one behind the other."""
    return [(shift, min(_EIGHT, bits - shift)) for shift in range(0, bits, _EIGHT)]
