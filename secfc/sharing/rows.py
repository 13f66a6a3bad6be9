"""Shared rows, as holders store them, and the products with them that holders compute alone."""

from collections.abc import Callable

import numpy as np

from secfc.errors import SecFCError
from secfc.field.array_types import Ints, Shares
from secfc.field.packing import PackedResidues, unpack
from secfc.kernels import Kernels
from secfc.sharing.shared import Shared

Allocate = Callable[[tuple[int, ...]], Shares]


def in_memory(shape: tuple[int, ...]) -> Shares:
    """An uninitialised float32 array."""
    return np.empty(shape, dtype=np.float32)


class Rows:
    """[f] of m rows, by segments of `width` columns.

    `shares`, shape (P, width + 1, m), are centred residues, and squared norms in the last row. They are None
    at a party that holds no shares.
    """

    def __init__(
        self, primes: tuple[int, ...], width: int, m: int, shares: Shares | None, kernels: Kernels
    ) -> None:
        self.primes, self.width, self.m, self._shares, self._kernels = primes, width, m, shares, kernels
        if shares is not None and shares.shape != (len(primes), width + 1, m):
            raise SecFCError(f"shares of shape {shares.shape} given, {(len(primes), width + 1, m)} needed")

    def __repr__(self) -> str:
        return f"Rows(m={self.m}, width={self.width})"

    @property
    def held(self) -> Shares | None:
        """A holder's shares and their squared norms, shape (P, width + 1, m)."""
        return self._shares

    @property
    def norms(self) -> Shared:
        """<|f|^2>, shape (m,): the squared norm of each segment."""
        found = None if self._shares is None else self._shares[:, -1].astype(np.float64)
        return Shared(self.primes, (self.m,), found, wide=True)

    def part(self, index: int, rows: slice) -> Shares:
        """A holder's shares of some rows modulo a prime, shape (width, rows)."""
        assert self._shares is not None
        return self._shares[index, :-1, rows]

    def some(self, rows: Ints) -> "Rows":
        """A copy of the rows with these numbers."""
        shares = (
            None if self._shares is None else self._shares.take(rows, axis=2)
        )  # in C order, as loops need
        return Rows(self.primes, self.width, rows.size, shares, self._kernels)

    def columns(self, rows: slice) -> Shared:
        """[f] of some rows, shape (rows, width)."""
        found = None
        if self._shares is not None:
            found = self._shares[:, :-1, rows].swapaxes(1, 2).astype(np.float64)
        return Shared(self.primes, (rows.stop - rows.start, self.width), found)

    def sums(self, sets: Shared) -> Shared:
        """<sum over i of b_i f_i> of [b], shape (k, m): the product, shape (k, width)."""
        found = None
        if self._shares is not None and sets.residues is not None:
            every = zip(self._shares, np.ascontiguousarray(sets.residues), self.primes, strict=True)
            found = np.stack([self._kernels.weighted_sums(*one)[:, :-1] for one in every])
        return Shared(self.primes, (sets.shape[0], self.width), found, wide=True)

    def affine(
        self, matrix: Shared, constant: Shared, *, norms: Shared | None = None, rows: slice | None = None
    ) -> PackedResidues | None:
        """<c + A f + q |f|^2>, packed, shape (P, columns, m), of [A], shape (columns, width), c and public q.

        c has shape (columns,), and q, 0 by default, shape (columns, 1). With `rows` only those are answered.
        """
        rows = slice(0, self.m) if rows is None else rows
        if self._shares is None or matrix.residues is None or constant.residues is None:
            return None
        columns = matrix.shape[0]
        packed = PackedResidues.empty((len(self.primes), columns, rows.stop - rows.start))
        last = np.zeros((len(self.primes), columns, 1)) if norms is None else norms.residues
        assert last is not None
        matrices = np.concatenate([matrix.residues, last], axis=2)
        for shares, one, constants, p, out in zip(
            self._shares, matrices, constant.residues, self.primes, packed.planes(), strict=True
        ):
            self._kernels.affine(shares, rows, one, constants, p, out)
        return packed

    def product(self, matrix: Shared) -> Shared:
        """<A f>, shape (columns, m)."""
        columns = matrix.shape[0]
        zeros = None if matrix.residues is None else np.zeros((len(self.primes), columns))
        packed = self.affine(matrix, Shared(self.primes, (columns,), zeros))
        found = None if packed is None else unpack(packed.planes())
        return Shared(self.primes, (columns, self.m), found, wide=True)
