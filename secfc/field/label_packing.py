"""Labels packed in as few bits as they need, for assignments and results."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from secfc.errors import MessageError
from secfc.field.array_types import Labels

_EIGHT = 8

_BLOCK = 1 << 14
"""Labels checked at a time, so that checking packed labels takes little memory."""

FEW = 1 << 18
"""Of so many labels, parties of one process keep what they unpacked: 1 MiB."""

Packed = bytes | memoryview
Small = NDArray[np.uint16]


@dataclass(frozen=True, kw_only=True, eq=False)
class PackedLabels:
    """Checked labels, still packed as received: unpacked, a label of one bit takes 32 times the memory."""

    payload: Packed = field(repr=False)  # `packed_size` bytes
    size: int  # labels
    largest: int  # largest possible label
    none: bool  # whether `largest` stands for -1, "in no set"

    def __post_init__(self) -> None:
        bits = bits_of(self.largest)
        used = self.size % _EIGHT or _EIGHT
        if (self._planes[:, -1:] >> used).any():
            raise MessageError("bits behind the last label are not zero")
        if self.largest != (1 << bits) - 1:
            for start in range(0, self.size, _BLOCK):
                if self._values(start, start + _BLOCK).max() > self.largest:
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
        labels = self._values(0, self.size).astype(np.int32)
        if self.none:
            labels[labels == self.largest] = -1
        return labels

    @property
    def _planes(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.payload, dtype=np.uint8).reshape(bits_of(self.largest), -1)

    def _values(self, start: int, stop: int) -> Small:
        """Labels from `start`, a multiple of eight."""
        found = np.zeros(min(stop, self.size) - start, dtype=np.uint16)
        for bit, plane in enumerate(self._planes[:, start // _EIGHT : -(-stop // _EIGHT)]):
            one = np.unpackbits(plane, count=found.size, bitorder="little").astype(np.uint16)
            found |= one << np.uint16(bit)
        return found


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
    """The lowest bit of all labels, eight in a byte, then the next one, and so on."""
    planes = [(labels >> np.uint16(bit)).astype(np.uint8) & np.uint8(1) for bit in range(bits)]
    return b"".join(np.packbits(plane, bitorder="little").tobytes() for plane in planes)
