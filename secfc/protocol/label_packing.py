"""Labels in as many bits as they need: what assignments and results take on the wire."""

import numpy as np
from numpy.typing import NDArray

from secfc.errors import MessageError

_EIGHT = 8

Packed = bytes | memoryview
Small = NDArray[np.uint16]


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
        words = groups[:, 0].copy()
        for i in range(1, _EIGHT):
            words |= groups[:, i] << np.uint64(width * i)
        parts.append(words.view(np.uint8).reshape(-1, _EIGHT)[:, :width].tobytes())
    return b"".join(parts)


def unpack_labels(packed: Packed, count: int, bits: int) -> Small:
    """What `pack_labels` packed.

    Parameters
    ----------
    packed : bytes-like
        `packed_size` bytes.

    Raises
    ------
    MessageError
        Bits behind the last label are not zero.
    """
    eights = -(-count // _EIGHT)
    whole = np.zeros(eights * _EIGHT, dtype=np.uint16)
    octets = np.frombuffer(packed, dtype=np.uint8)
    first = 0
    for shift, width in _planes(bits):
        words = np.zeros((eights, _EIGHT), dtype=np.uint8)
        words[:, :width] = octets[first : first + eights * width].reshape(eights, width)
        first += eights * width
        joined = words.view("<u8")[:, 0]
        target = whole.reshape(eights, _EIGHT)
        for i in range(_EIGHT):
            part = (joined >> np.uint64(width * i)) & np.uint64((1 << width) - 1)
            target[:, i] |= part.astype(np.uint16) << np.uint16(shift)
    if whole[count:].any():
        raise MessageError("bits behind the last label are not zero")
    return whole[:count]


def _planes(bits: int) -> list[tuple[int, int]]:
    """First bit and width of what is packed one behind the other."""
    return [(shift, min(_EIGHT, bits - shift)) for shift in range(0, bits, _EIGHT)]
