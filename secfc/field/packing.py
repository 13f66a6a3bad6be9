"""Residues as three bytes each: what messages carry and what memory holds of answers."""

from dataclasses import dataclass
from math import prod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from secfc._arrays import Floats
from secfc.errors import MessageError
from secfc.field.residues import canonical

BYTES_PER_RESIDUE = 3
_CHECK_BLOCK = 1 << 18


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PackedResidues:
    """Canonical residues of shape (primes, rows, columns), 24 bits each, little endian.

    Parameters
    ----------
    shape : tuple of three ints
        (primes, rows, columns).
    payload : bytes-like
        ``3 * primes * rows * columns`` bytes.

    Raises
    ------
    MessageError
        When the payload has another length than the shape says.
    """

    shape: tuple[int, int, int]
    payload: bytes | bytearray | memoryview

    def __post_init__(self) -> None:
        expected = BYTES_PER_RESIDUE * prod(self.shape)
        if len(self.payload) != expected:
            raise MessageError(
                f"residues of shape {self.shape} take {expected} bytes, {len(self.payload)} were given"
            )

    def __repr__(self) -> str:
        return f"PackedResidues(shape={self.shape})"

    @classmethod
    def empty(cls, shape: tuple[int, int, int]) -> Self:
        """Zero residues of a shape, to be filled by `write`."""
        return cls(shape=shape, payload=bytearray(BYTES_PER_RESIDUE * prod(shape)))

    def _bytes(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.payload, dtype=np.uint8).reshape(*self.shape, BYTES_PER_RESIDUE)

    def write(self, prime: int, rows: slice, residues: Floats, p: int) -> None:
        """Pack reduced residues of shape (rows, columns) modulo p (not allowed on received bytes)."""
        words = canonical(residues, p).astype("<u4")
        self._bytes()[prime, rows] = words[..., np.newaxis].view(np.uint8)[..., :BYTES_PER_RESIDUE]

    def read(self, prime: int, rows: slice) -> Floats:
        """Canonical residues of shape (rows, columns), float64."""
        packed = self._bytes()[prime, rows]
        words = np.zeros((*packed.shape[:2], 4), dtype=np.uint8)
        words[..., :BYTES_PER_RESIDUE] = packed
        return words.view("<u4")[..., 0].astype(np.float64)

    def check(self, primes: tuple[int, ...]) -> None:
        """Raise MessageError unless every residue is below its prime (a canonical encoding)."""
        block = max(1, _CHECK_BLOCK // max(1, self.shape[2]))
        for index, p in enumerate(primes):
            for start in range(0, self.shape[1], block):
                part = self.read(index, slice(start, start + block))
                if part.size and part.max() >= p:
                    raise MessageError(f"a residue is not below its prime {p}")
