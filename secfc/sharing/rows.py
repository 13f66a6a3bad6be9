"""Shared rows, as holders store them, and the products with them that holders compute alone."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from secfc.errors import SecFCError
from secfc.field.array_types import Floats, Ints, Shares
from secfc.field.packing import PackedResidues
from secfc.field.residues import matmul, reduce
from secfc.kernels import Kernels
from secfc.sharing.formula import Draw, Formula, Pair, crossed, moduli, not_alone
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
        self.reduced_norms: Shared | None = None  # once they are needed
        self.masked_norms: Shared | None = None  # at those who compare, likewise
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

        def pairs(factors: Floats) -> list[Pair]:
            assert self._shares is not None
            values = self._shares[:, :-1].reshape(len(self.primes), 1, -1)
            return [(_Scaled(values, factors, self.primes), values)]

        return Shared(self.primes, (self.m,), found, formula=Formula(self.width * self.m, pairs))

    def part(self, index: int, rows: slice) -> Shares:
        """A holder's shares of some rows modulo a prime, shape (width, rows)."""
        assert self._shares is not None
        return self._shares[index, :-1, rows]

    def some(self, rows: Ints) -> "Rows":
        """A copy of the rows with these numbers."""
        shares = (
            None if self._shares is None else self._shares.take(rows, axis=2)
        )  # in C order, as loops need
        found = Rows(self.primes, self.width, rows.size, shares, self._kernels)
        if self.reduced_norms is not None:
            found.reduced_norms = self.reduced_norms[rows]
        if self.masked_norms is not None:
            found.masked_norms = self.masked_norms[:, rows]
        return found

    def columns(self, rows: slice) -> Shared:
        """[f] of some rows, shape (rows, width)."""
        found = None
        if self._shares is not None:
            found = self._shares[:, :-1, rows].swapaxes(1, 2).astype(np.float64)
        return Shared(self.primes, (rows.stop - rows.start, self.width), found)

    def combined(self, factors: Floats, rows: slice | None = None) -> Shared:
        """[sum over i of c_i f_i], shape (combinations, width), of coefficients c, (P or 1, combinations, m).

        With `rows` only those are combined.
        """
        shape, found = (factors.shape[1], self.width), None
        if self._shares is not None:
            found = self._weighted(factors, rows)
        return Shared(self.primes, shape, found)

    def projected(self, factors: Floats) -> Shared:
        """[sum over c of a_c f_c], (combinations, m), of coefficients a, (P or 1, combinations, width)."""
        factors = np.broadcast_to(factors, (len(self.primes), *factors.shape[1:]))
        product = self.product(Shared(self.primes, factors.shape[1:], factors))
        return Shared(self.primes, product.shape, product.residues)

    def sums(self, sets: Shared) -> Shared:
        """<sum over i of b_i f_i> of [b], shape (k, length), in each block of so many rows.

        The product has shape (blocks * k, width). Its coefficients are products of one for each set of a
        block and one for each column, so that its combination is an inner product of length m.
        """
        (k, length), found = sets.shape, None
        blocks = [slice(start, min(start + length, self.m)) for start in range(0, self.m, length)]
        count = k * len(blocks)
        if self._shares is not None and sets.residues is not None:
            parts = [self._weighted(sets.residues[..., : one.stop - one.start], one) for one in blocks]
            found = np.concatenate(parts, axis=1)

        def drawn(draw: Draw) -> tuple[Floats, list[Pair]]:
            of_sets, of_columns, by = draw((count,)), draw((self.width,)), moduli(self.primes, 3)
            projected = self.projected(of_columns).residues
            assert sets.residues is not None
            assert projected is not None
            weights = matmul(of_sets.reshape(len(of_sets), -1, k), sets.residues, by)
            weights = weights.reshape(len(self.primes), of_sets.shape[1], -1)[..., : self.m]
            return crossed(of_sets, of_columns, self.primes), [(weights, projected)]

        return Shared(self.primes, (count, self.width), found, formula=Formula(self.m, not_alone, drawn))

    def _weighted(self, weights: Floats, rows: slice | None = None) -> Floats:
        """Sums of rows with weights, shape (P or 1, k, rows): shape (P, k, width)."""
        assert self._shares is not None
        shares = self._shares if rows is None else np.ascontiguousarray(self._shares[..., rows])
        weights = np.broadcast_to(np.ascontiguousarray(weights), (len(self.primes), *weights.shape[1:]))

        def summed(at: int) -> Floats:
            return self._kernels.weighted_sums(shares[at], weights[at], self.primes[at])[:, :-1]

        return np.stack(self._kernels.threads.each(summed, range(len(self.primes)), size=shares.size))

    def affine(
        self, matrix: Shared, constant: Shared, rows: slice | None = None, *, sent: bool = True
    ) -> "Answers":
        """<c + A f>, shape (columns, m), of [A], shape (columns, width), and c, shape (columns,).

        With `rows` only those are answered. If they are only checked, they are not `sent`.
        """
        rows, columns = slice(0, self.m) if rows is None else rows, matrix.shape[0]

        def pairs(of_columns: Floats, of_rows: Floats) -> list[Pair]:
            assert matrix.residues is not None
            by, count = moduli(self.primes, 3), of_columns.shape[1]
            total = of_columns * reduce(of_rows.sum(axis=2, keepdims=True), by)
            constants = constant.reshape(1, columns).times(reduce(total, by)).sum(1)
            direction = Shared(self.primes, (count, self.width), matmul(of_columns, matrix.residues, by))
            combined = (direction * self.combined(of_rows, rows)).sum(1) + constants
            return combined.formula.pairs(np.broadcast_to(np.eye(count), (len(self.primes), count, count)))

        shape = columns, rows.stop - rows.start

        def length(combinations: int) -> int:
            return combinations * self.width + constant.formula.length

        return Answers(shape, length, self._affine(matrix, constant, rows) if sent else None, pairs)

    def _affine(self, matrix: Shared, constant: Shared, rows: slice) -> PackedResidues | None:
        if self._shares is None or matrix.residues is None or constant.residues is None:
            return None
        count, columns = len(self.primes), matrix.shape[0]
        packed = PackedResidues.empty((count, columns, rows.stop - rows.start))
        matrices = np.concatenate([matrix.residues, np.zeros((count, columns, 1))], axis=2)
        every = list(zip(matrices, constant.residues, self.primes, packed.planes(), strict=True))
        held = self._shares

        def answer(at: int) -> None:
            self._kernels.affine(held[at], rows, *every[at])

        self._kernels.threads.each(answer, range(count), size=prod(packed.shape))
        return packed

    def product(self, matrix: Shared) -> Shared:
        """<A f>, shape (columns, m)."""
        columns = matrix.shape[0]
        zeros = None if matrix.residues is None else np.zeros((len(self.primes), columns))
        packed = self._affine(matrix, Shared(self.primes, (columns,), zeros), slice(0, self.m))
        found = None if packed is None else self._kernels.residues(packed.planes(), self.primes)

        def pairs(factors: Floats) -> list[Pair]:
            count = factors.shape[1]
            flat = factors.reshape(len(factors), count * columns, self.m)
            own = self.combined(flat).residues
            assert own is not None
            assert matrix.residues is not None
            own = own.reshape(len(self.primes), count, -1)
            return [(own, matrix.residues.reshape(len(self.primes), 1, -1))]

        formula = Formula(columns * self.width, pairs)
        return Shared(self.primes, (columns, self.m), found, formula=formula)


class _Scaled:
    """Values of columns and rows, shape (P, 1, columns * m), times factors, (P or 1, combinations, m).

    They are multiplied where they are asked for, because all of them take several times the memory of rows.
    """

    def __init__(self, values: Shares, factors: Floats, primes: tuple[int, ...]) -> None:
        self._values, self._factors, self._primes = values, factors, primes
        self.shape = len(primes), factors.shape[1], values.shape[2]

    def __getitem__(self, index: Any) -> Floats:
        rows = np.arange(index[2].start, index[2].stop) % self._factors.shape[2]
        return reduce(self._factors[:, :, rows] * self._values[index], moduli(self._primes, 3))


@dataclass(frozen=True)
class Answers:
    """What is compared: `packed` at a holder, shape (P, columns, rows).

    `length` is that of the vectors of so many combinations.
    `pairs` makes vectors with the inner products <sum over c and i of a_c g_i x_ci>, of public coefficients
    of columns and rows, with axes (combinations, columns) and (combinations, rows).
    """

    shape: tuple[int, int]
    length: Callable[[int], int] = field(repr=False)
    packed: PackedResidues | None = field(repr=False)
    pairs: Callable[[Floats, Floats], list[Pair]] = field(repr=False)

    def beside(self, other: "Answers") -> "Answers":
        """With the rows of others that have as many columns after the own ones."""
        (columns, rows), packed = self.shape, None
        shape = columns, rows + other.shape[1]
        if self.packed is not None and other.packed is not None:
            planes = self.packed.planes(), other.packed.planes()
            packed = PackedResidues.empty((len(planes[0]), *shape))
            np.concatenate(planes, axis=-1, out=packed.planes())

        def pairs(of_columns: Floats, of_rows: Floats) -> list[Pair]:
            own, more = of_rows[..., :rows], of_rows[..., rows:]
            return self.pairs(of_columns, own) + other.pairs(of_columns, more)

        return Answers(shape, lambda count: self.length(count) + other.length(count), packed, pairs)


def answers_of(shares: Shared, *, columns: int = 1) -> Answers:
    """Shares, of any shape, as answers with so many columns."""
    rows, packed, primes = shares.size // columns, None, shares.primes
    formula, shape = shares.formula, shares.shape  # the vectors need no residues of products
    if shares.residues is not None:
        packed = PackedResidues.of(shares.residues.reshape(len(primes), columns, rows), moduli(primes, 3))

    def pairs(of_columns: Floats, of_rows: Floats) -> list[Pair]:
        factors = crossed(of_columns, of_rows, primes)
        return formula.pairs(factors.reshape(*factors.shape[:2], *shape))

    return Answers((columns, rows), lambda combinations: formula.length, packed, pairs)
