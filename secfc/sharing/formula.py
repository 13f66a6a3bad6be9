"""How a product follows from what was multiplied, so that a random combination of it can be checked.

A product <x> is linear in products of two shared numbers. With coefficients c its combination sum c x is an
inner product of two vectors that each holder computes from its own shares. A `Formula` makes these vectors.
Coefficients are reduced residues, shape (P, combinations, *shape of x), or (1, ...) while they are the same
modulo all primes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any, Protocol

import numpy as np

from secfc.errors import SecFCError
from secfc.field.array_types import Floats
from secfc.field.residues import BLOCK, matmul, reduce


class Vector(Protocol):
    """An array of reduced residues, or what computes parts of one where they are asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(P, combinations, length)."""

    def __getitem__(self, index: Any, /) -> Any:
        """Some of its elements."""


Arrays = tuple[Floats, Floats]
Pair = tuple[Vector, Vector]
"""Two vectors, shapes (P, combinations, length) or (P, 1, length), of which the inner product counts."""

Draw = Callable[[tuple[int, ...]], Floats]
"""From a shape to uniform coefficients of numbers with this shape."""


@dataclass(frozen=True)
class Formula:
    """`length` is that of all vectors together, and `pairs` makes them from coefficients.

    `drawn` draws coefficients and makes the vectors of them: coefficients that are products make shorter ones
    for some products.
    """

    length: int
    pairs: Callable[[Floats], list[Pair]] = field(repr=False)
    drawn: Callable[[Draw], tuple[Floats, list[Pair]]] | None = field(default=None, repr=False)

    def draw(self, draw: Draw, shape: tuple[int, ...]) -> tuple[Floats, list[Pair]]:
        """Coefficients of a product with this shape, and the vectors of its combinations."""
        if self.drawn is not None:
            return self.drawn(draw)
        factors = draw(shape)
        return factors, self.pairs(factors)


ZERO = Formula(0, lambda factors: [])
"""That of a sharing of zero."""


@cache
def moduli(primes: tuple[int, ...], ndim: int) -> Floats:
    """The primes on the first of so many axes."""
    return np.array(primes, dtype=np.float64).reshape(-1, *[1] * (ndim - 1))


def of_number(values: Floats | None, shape: tuple[int, ...], primes: tuple[int, ...]) -> Formula:
    """That of numbers that are no product: their combination times 1."""

    def pairs(factors: Floats) -> list[Pair]:
        assert values is not None
        flat = factors.reshape(*factors.shape[:2], prod(shape))
        found = products(flat, values.reshape(len(primes), 1, -1), primes)
        return [(found[..., np.newaxis], np.ones((len(primes), 1, 1)))]

    return Formula(1, pairs)


def products(first: Floats, second: Floats, primes: tuple[int, ...]) -> Floats:
    """Inner products along the last axis, reduced. All other axes broadcast."""
    whole, by = first.shape[-1] // BLOCK * BLOCK, moduli(primes, first.ndim)
    blocks = [one[..., :whole].reshape(*one.shape[:-1], -1, BLOCK) for one in (first, second)]
    sums = reduce(np.einsum("...i,...i->...", *blocks), by).sum(axis=-1)
    by = by[..., 0]
    sums += reduce(np.einsum("...i,...i->...", first[..., whole:], second[..., whole:]), by)
    return reduce(sums, by)


def of_elements(
    first: Floats | None,
    second: Floats | None,
    shapes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
    primes: tuple[int, ...],
) -> Formula:
    """That of the products of elements. `shapes` are those of both factors and of the product."""
    if prod(shapes[1]) < prod(shapes[0]):
        first, second, shapes = second, first, (shapes[1], shapes[0], shapes[2])
    inner, outer, full = shapes

    def pairs(factors: Floats) -> list[Pair]:
        assert first is not None
        assert second is not None
        broadcast = second.reshape(len(primes), 1, *[1] * (len(full) - len(outer)), *outer)
        scaled = reduce(factors * broadcast, moduli(primes, factors.ndim))
        return [(summed_to(scaled, inner, primes), first.reshape(len(primes), 1, -1))]

    return Formula(prod(inner), pairs)


def summed_to(values: Floats, shape: tuple[int, ...], primes: tuple[int, ...]) -> Floats:
    """Sums over the axes along which an array of a shape was broadcast, shape (P, combinations, size)."""
    full = values.shape[2:]
    padded = (*[1] * (len(full) - len(shape)), *shape)
    axes = tuple(at + 2 for at, (one, of_all) in enumerate(zip(padded, full, strict=True)) if one < of_all)
    if axes:
        values = reduce(values.sum(axis=axes, keepdims=True), moduli(primes, values.ndim))
    return values.reshape(*values.shape[:2], prod(shape))


def of_matrices(
    first: Floats | None, second: Floats | None, shape: tuple[int, int, int], primes: tuple[int, ...]
) -> Formula:
    """That of a product of matrices. `shape` are the rows, the inner length, and the columns."""
    rows, inner, columns = shape

    def pairs(factors: Floats) -> list[Pair]:
        assert first is not None
        assert second is not None
        by, flat = moduli(primes, 4), (len(primes), factors.shape[1], -1)
        if rows <= columns:
            scaled = matmul(factors, second[:, np.newaxis].swapaxes(2, 3), by)
            return [(scaled.reshape(flat), first.reshape(len(primes), 1, -1))]
        scaled = matmul(first[:, np.newaxis].swapaxes(2, 3), factors, by)
        return [(scaled.reshape(flat), second.reshape(len(primes), 1, -1))]

    return Formula(inner * min(rows, columns), pairs)


def of_pairs(values: Floats | None, shape: tuple[int, int], primes: tuple[int, ...]) -> Formula:
    """That of the inner products of each two rows of an array with this shape.

    Its coefficients are products of one for each row and one for each column (`crossed`).
    """

    def drawn(draw: Draw) -> tuple[Floats, list[Pair]]:
        assert values is not None
        of_rows, of_columns, by = draw(shape[:1]), draw(shape[:1]), moduli(primes, 3)
        pair = matmul(of_rows, values, by), matmul(of_columns, values, by)
        return crossed(of_rows, of_columns, primes), [pair]

    return Formula(shape[1], not_alone, drawn)


def crossed(of_rows: Floats, of_columns: Floats, primes: tuple[int, ...]) -> Floats:
    """The products of coefficients of rows and of columns, shape (P, combinations, rows, columns)."""
    return reduce(of_rows[..., np.newaxis] * of_columns[:, :, np.newaxis], moduli(primes, 4))


def not_alone(factors: Floats) -> list[Pair]:
    """Refuse other coefficients than `crossed` ones: vectors would be many times as long."""
    raise SecFCError("sums and products of all pairs are combined with coefficients of their own")


def sum_of(parts: Sequence[tuple[Formula, int, tuple[int, ...]]], primes: tuple[int, ...]) -> Formula:
    """That of a sum of products, each with a sign and a shape that is broadcast."""

    def pairs(factors: Floats) -> list[Pair]:
        found = list[Pair]()
        for one, sign, shape in parts:
            own = summed_to(factors, shape, primes)
            own = own.reshape(*own.shape[:2], *shape)
            found += one.pairs(own if sign > 0 else -own)
        return found

    return Formula(sum(one.length for one, _, _ in parts), pairs)


def scaled(of: Formula, by: Floats, shape: tuple[int, ...], primes: tuple[int, ...]) -> Formula:
    """That of a product times public residues `by`, broadcast. `shape` is that of the product."""

    def pairs(factors: Floats) -> list[Pair]:
        lifted = by.reshape(by.shape[0], 1, *[1] * (factors.ndim - 1 - by.ndim), *by.shape[1:])
        own = summed_to(reduce(factors * lifted, moduli(primes, factors.ndim)), shape, primes)
        return of.pairs(own.reshape(*own.shape[:2], *shape))

    return Formula(of.length, pairs)


def along(of: Formula, axis: int, length: int) -> Formula:
    """That of the sums of a product along an axis with this length."""

    def pairs(factors: Floats) -> list[Pair]:
        shape = *factors.shape[: axis + 2], length, *factors.shape[axis + 2 :]
        return of.pairs(np.broadcast_to(np.expand_dims(factors, axis + 2), shape))

    return Formula(of.length, pairs)


def indexed(of: Formula, index: Any, shape: tuple[int, ...], primes: tuple[int, ...]) -> Formula:
    """That of some elements of a product with this shape."""
    if not of.length:
        return ZERO

    def pairs(factors: Floats) -> list[Pair]:
        spread = np.zeros((*factors.shape[:2], *shape))
        if all(isinstance(one, slice) for one in index):  # no element is there twice
            spread[:, :, *index] = factors
            return of.pairs(spread)
        np.add.at(spread, (slice(None), slice(None), *index), factors)
        return of.pairs(reduce(spread, moduli(primes, spread.ndim)))

    return Formula(of.length, pairs)


def reshaped(of: Formula, before: tuple[int, ...], after: tuple[int, ...]) -> Formula:
    """That of a product in another shape."""

    def pairs(factors: Floats) -> list[Pair]:
        return of.pairs(factors.reshape(*factors.shape[:2], *before))

    def drawn(draw: Draw) -> tuple[Floats, list[Pair]]:
        factors, found = of.draw(draw, before)
        return factors.reshape(*factors.shape[:2], *after), found

    return Formula(of.length, pairs, drawn)


def of_joined(parts: Sequence[tuple[Formula, tuple[int, ...]]], axis: int) -> Formula:
    """That of products along an axis, each with its shape."""

    def pairs(factors: Floats) -> list[Pair]:
        ends = np.cumsum([shape[axis] for _, shape in parts])[:-1].tolist()
        every = zip(parts, np.split(factors, ends, axis=axis + 2), strict=True)
        return [pair for (one, _), own in every for pair in one.pairs(own)]

    def drawn(draw: Draw) -> tuple[Floats, list[Pair]]:
        every = [one.draw(draw, shape) for one, shape in parts]
        count = max(len(own) for own, _ in every)
        drawn = [np.broadcast_to(own, (count, *own.shape[1:])) for own, _ in every]
        return np.concatenate(drawn, axis=axis + 2), [pair for _, found in every for pair in found]

    return Formula(sum(one.length for one, _ in parts), pairs, drawn)
