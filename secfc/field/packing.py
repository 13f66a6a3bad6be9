"""Residues as three bytes each, in messages and for answers in memory."""

from collections.abc import Sequence
from math import prod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from secfc.errors import MessageError
from secfc.field.array_types import Floats
from secfc.field.residues import LOOPS, by_first_axis, canonical

BYTES_PER_RESIDUE = 3
HEADROOM = 64  # bytes reserved before a payload: more than any header needs
_TRIPLE = np.dtype((np.void, BYTES_PER_RESIDUE))
_LOW = np.uint32(0xFFFFFF)


def packed_bytes(shape: tuple[int, int, int]) -> int:
    """Bytes of packed residues of this shape."""
    return BYTES_PER_RESIDUE * prod(shape)


def pack(residues: Floats, p: int | Floats) -> NDArray[np.uint8]:
    """Three little-endian bytes for each reduced residue: shape (..., rows) becomes (..., 3 * rows).

    Arrays of primes broadcast to the shape of `residues`.
    """
    if not by_first_axis(residues, p):
        return pack_canonical(canonical(residues, p))
    packed = np.empty((*residues.shape[:-1], BYTES_PER_RESIDUE * residues.shape[-1]), dtype=np.uint8)
    for row, prime, out in zip(residues, np.ravel(p), packed, strict=True):
        LOOPS[0].pack(row.reshape(-1), int(prime), out.reshape(-1))
    return packed


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
    if LOOPS:
        LOOPS[0].unpack(octets.reshape(-1), found.reshape(-1))
    elif found.size:
        # Four bytes from each triple on, without the last: none follows it.
        words = np.ndarray(found.size - 1, "<u4", octets.data, strides=(BYTES_PER_RESIDUE,))
        flat = found.reshape(-1)
        np.bitwise_and(words, _LOW, out=flat[:-1])
        flat[-1] = int.from_bytes(octets[-1].tobytes(), "little")
    return found


def size_of(count: int, primes: Sequence[int]) -> int:
    """Bytes of so many residues modulo each prime."""
    return BYTES_PER_RESIDUE * count * len(primes)


def to_bytes(residues: Floats, primes: Sequence[int]) -> bytes:
    """Reduced residues, shape (P, ...)."""
    flat = residues.reshape(len(primes), -1)
    return pack(flat, np.array(primes, dtype=np.float64)[:, np.newaxis]).tobytes()


def from_bytes(data: bytes | bytearray | memoryview, shape: tuple[int, ...], primes: Sequence[int]) -> Floats:
    """Canonical residues, shape (P, *shape). MessageError unless each is below its prime."""
    packed = np.frombuffer(data, dtype=np.uint8).reshape(len(primes), BYTES_PER_RESIDUE * prod(shape))
    found = unpack(packed)
    if (found >= np.array(primes)[:, np.newaxis]).any():
        raise MessageError("integers that are not below their prime were sent")
    return found.reshape(len(primes), *shape)


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

    @classmethod
    def of(cls, residues: Floats, p: Floats) -> Self:
        """Reduced residues, shape (primes, columns, rows), packed."""
        primes, columns, rows = residues.shape
        found = cls.empty((primes, columns, rows))
        found.planes()[...] = pack(residues, p)
        return found

    def planes(self) -> NDArray[np.uint8]:
        """The packed residues, shape (primes, columns, 3 * rows), as a view."""
        primes, columns, rows = self.shape
        octets = np.frombuffer(self.payload, dtype=np.uint8)
        return octets.reshape(primes, columns, BYTES_PER_RESIDUE * rows)
