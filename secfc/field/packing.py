"""Residues as three bytes each, in messages and for answers in memory."""

from math import prod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from secfc.errors import MessageError
from secfc.field.array_types import Floats
from secfc.field.payload import Payload
from secfc.field.residues import canonical

BYTES_PER_RESIDUE = 3
_TRIPLE = np.dtype((np.void, BYTES_PER_RESIDUE))
_LOW = np.uint32(0xFFFFFF)


def packed_bytes(shape: tuple[int, int, int]) -> int:
    """Bytes of packed residues of this shape."""
    return BYTES_PER_RESIDUE * prod(shape)


def pack(residues: Floats, p: int | Floats) -> NDArray[np.uint8]:
    """Three little-endian bytes for each reduced residue: shape (..., rows) becomes (..., 3 * rows).

    Arrays of primes broadcast to the shape of `residues`.
    """
    return pack_canonical(canonical(residues, p))


def pack_canonical(residues: Floats) -> NDArray[np.uint8]:
    """`pack` for residues that are canonical already."""
    words = residues.astype("<u4")
    octets = words[..., np.newaxis].view(np.uint8)
    packed = np.empty((*words.shape, BYTES_PER_RESIDUE), dtype=np.uint8)
    for byte in range(BYTES_PER_RESIDUE):  # three long loops are faster than many of three bytes
        packed[..., byte] = octets[..., byte]
    return packed.reshape(*residues.shape[:-1], BYTES_PER_RESIDUE * residues.shape[-1])


def triples(packed: NDArray[np.uint8]) -> NDArray[np.void]:
    """A view of packed residues, shape (..., 3 * rows), with one element per residue. Taking some is fast."""
    return packed.view(_TRIPLE)


def unpack(packed: NDArray[np.uint8]) -> Floats:
    """The integers below 2**24 in three bytes each, as float64: the inverse of `pack`."""
    found = np.empty((*packed.shape[:-1], packed.shape[-1] // BYTES_PER_RESIDUE))
    octets = np.ascontiguousarray(packed).reshape(found.size, BYTES_PER_RESIDUE)
    if found.size:
        # Four bytes from each triple on, without the last: none follows it.
        words = np.ndarray(found.size - 1, "<u4", octets.data, strides=(BYTES_PER_RESIDUE,))
        flat = found.reshape(-1)
        np.bitwise_and(words, _LOW, out=flat[:-1])
        flat[-1] = int.from_bytes(octets[-1].tobytes(), "little")
    return found


class PackedResidues(Payload):
    """Canonical residues of shape (primes, columns, rows), 24 bits each, little endian.

    MessageError if the payload's length does not fit the shape.
    """

    __slots__ = ("shape",)

    def __init__(self, *, payload: bytes | bytearray | memoryview, shape: tuple[int, int, int]) -> None:
        super().__init__(payload=payload)
        self.shape, expected = shape, packed_bytes(shape)
        if len(payload) != expected:
            raise MessageError(f"residues of shape {shape} take {expected} bytes, {len(payload)} were given")

    def __repr__(self) -> str:
        return f"PackedResidues(shape={self.shape})"

    @classmethod
    def empty(cls, shape: tuple[int, int, int]) -> Self:
        """Uninitialised residues, to be written through `planes`, with space for a header before them."""
        return cls._with_room(packed_bytes(shape), shape=shape)

    def cut(self, rows: int) -> tuple[Self, Self]:
        """The first rows and the others, copied."""
        primes, columns, _ = self.shape
        planes = np.split(self.planes(), [BYTES_PER_RESIDUE * rows], axis=2)
        pieces = [type(self).empty((primes, columns, one.shape[2] // BYTES_PER_RESIDUE)) for one in planes]
        for piece, one in zip(pieces, planes, strict=True):
            piece.planes()[...] = one
        first, rest = pieces
        return first, rest

    def planes(self) -> NDArray[np.uint8]:
        """The packed residues, shape (primes, columns, 3 * rows), as a view."""
        primes, columns, rows = self.shape
        octets = np.frombuffer(self.payload, dtype=np.uint8)
        return octets.reshape(primes, columns, BYTES_PER_RESIDUE * rows)
