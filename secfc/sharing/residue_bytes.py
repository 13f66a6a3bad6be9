"""Residues as bytes of a message and back, three for each; what others sent is checked."""

from collections.abc import Sequence
from math import prod

import numpy as np

from secfc.errors import MessageError
from secfc.field.array_types import Floats
from secfc.field.packing import BYTES_PER_RESIDUE, pack, unpack


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
