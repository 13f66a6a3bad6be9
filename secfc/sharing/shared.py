"""Shared arrays, with the arithmetic that holders do alone: sums, multiples and one product.

Every party has the same `Shared`. A holder has its residues in it, another party only the shape. So one
program computes for all, and no party asks itself what it is.
"""

from collections.abc import Callable
from math import prod
from typing import Any, Self

import numpy as np

from secfc.errors import SecFCError
from secfc.field.array_types import Floats
from secfc.field.residues import matmul, reduce
from secfc.sharing.formula import (
    Formula,
    along,
    indexed,
    moduli,
    of_elements,
    of_joined,
    of_matrices,
    of_number,
    of_pairs,
    reshaped,
    scaled,
    sum_of,
)

Public = int | np.ndarray[Any, np.dtype[np.int64]]
"""A public integer, or an array of them, below 2**53 in magnitude."""


class Shared:
    """Shares of an array: [x], or <x> if `wide`, which is a product of two [x] and is multiplied no more.

    `residues`, shape (P, *shape), are reduced. They are None at a party that holds no shares. A product has a
    `formula`, by which it can be checked once it is reduced or opened.
    """

    def __init__(
        self,
        primes: tuple[int, ...],
        shape: tuple[int, ...],
        residues: Floats | None,
        *,
        formula: Formula | None = None,
    ) -> None:
        self.primes, self.shape, self.residues, self._formula = primes, shape, residues, formula
        if residues is not None and residues.shape != (len(primes), *shape):
            raise SecFCError(f"shares of shape {residues.shape} given, {(len(primes), *shape)} needed")

    def __repr__(self) -> str:
        return f"Shared(shape={self.shape}, wide={self.wide})"

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def wide(self) -> bool:
        """Whether it is a product."""
        return self._formula is not None

    @property
    def formula(self) -> Formula:
        """How it follows from what was multiplied; of numbers that are no product, themselves."""
        return self._formula or of_number(self.residues, self.shape, self.primes)

    def __add__(self, other: "Shared | Public") -> Self:
        if isinstance(other, Shared):
            return self._added(other, np.add, 1)
        return self._made(
            lambda own: self._reduced(np.add(*_aligned(own, self._public(other)))), self._plus(other, 1)
        )

    def __sub__(self, other: "Shared | Public") -> Self:
        if isinstance(other, Shared):
            return self._added(other, np.subtract, -1)
        return self._made(
            lambda own: self._reduced(np.subtract(*_aligned(own, self._public(other)))), self._plus(other, -1)
        )

    def __rsub__(self, other: Public) -> Self:
        return self * -1 + other

    def __mul__(self, other: "Shared | Public") -> Self:
        if isinstance(other, Shared):
            self._narrow(other)
            found = self._with(other, np.multiply)
            shapes = self.shape, other.shape, found.shape
            found._formula = of_elements(self.residues, other.residues, shapes, self.primes)
            return found
        return self.times(self._public(other))

    def times(self, residues: Floats) -> Self:
        """Multiples by public residues, shape (P, ...), which broadcast."""
        shape = _shape_of(np.multiply, self.shape, residues.shape[1:])
        formula = self._formula and scaled(self._formula, residues, self.shape, self.primes)

        def product(own: Floats) -> Floats:
            return self._reduced(np.multiply(*_aligned(own, residues)))

        return self._made(product, formula, lambda: shape)

    def __matmul__(self, other: "Shared") -> Self:
        self._narrow(other)
        found = self._with(other, lambda a, b: matmul(a, b, moduli(self.primes, a.ndim)))
        sizes = self.shape[0], self.shape[1], other.shape[1]
        found._formula = of_matrices(self.residues, other.residues, sizes, self.primes)
        return found

    def __getitem__(self, index: Any) -> Self:
        inner = index if isinstance(index, tuple) else (index,)
        formula = self._formula and indexed(self._formula, inner, self.shape, self.primes)
        return self._made(
            lambda own: own[:, *inner], formula, lambda: np.empty(self.shape, np.bool_)[inner].shape
        )

    def sum(self, axis: int) -> Self:
        """The sum along an axis of the shape."""
        return self._made(
            lambda own: self._reduced(own.sum(axis=axis + 1)),
            self._formula and along(self._formula, axis, self.shape[axis]),
            lambda: self.shape[:axis] + self.shape[axis + 1 :],
        )

    def running(self) -> Self:
        """The sums of the first elements, for each number of them, of an array with one axis."""
        self._narrow(self)
        return self._made(lambda own: self._reduced(own.cumsum(axis=1)), None)  # exact for 2**29 elements

    def reshape(self, *shape: int) -> Self:
        """The same elements in another shape, of which one length may be -1."""
        after = np.empty(self.shape, np.bool_).reshape(shape).shape
        return self._made(
            lambda own: own.reshape(len(self.primes), *after),
            self._formula and reshaped(self._formula, self.shape, after),
            lambda: after,
        )

    def overlaps(self) -> Self:
        """<sum over i of x_ai x_bi>, shape (a, a), of all pairs of rows of an array with two axes."""
        self._narrow(self)
        rows, length = self.shape
        found, by = None, moduli(self.primes, 3)
        if self.residues is not None:
            found = matmul(self.residues, self.residues.swapaxes(1, 2), by)
        formula = of_pairs(self.residues, (rows, length), self.primes)
        return type(self)(self.primes, (rows, rows), found, formula=formula)

    def modulo_first(self) -> Self:
        """The same modulo the first prime alone, of numbers that are no product, or of zeros."""
        if self.formula.length > 1:
            raise SecFCError("a product is to be checked modulo all primes")
        found = None if self.residues is None else self.residues[:1]
        return type(self)(self.primes[:1], self.shape, found, formula=self._formula)

    def _made(
        self,
        of: Callable[[Floats], Floats],
        formula: Formula | None,
        shape: Callable[[], tuple[int, ...]] | None = None,
    ) -> Self:
        """The result of `of` at a holder, and its shape at another party; by default the same shape."""
        found = None if self.residues is None else of(self.residues)
        if shape is None:
            return type(self)(self.primes, self.shape, found, formula=formula)
        of_result = shape() if found is None else found.shape[1:]
        return type(self)(self.primes, of_result, found, formula=formula)

    def _with(self, other: "Shared", of: Callable[[Floats, Floats], Floats]) -> Self:
        if self.residues is None or other.residues is None:
            return type(self)(self.primes, _shape_of(of, self.shape, other.shape), None)
        found = self._reduced(of(*_aligned(self.residues, other.residues)))
        return type(self)(self.primes, found.shape[1:], found)

    def _added(self, other: "Shared", of: Callable[[Floats, Floats], Floats], sign: int) -> Self:
        found = self._with(other, of)
        if self.wide and not other.formula.length and found.shape == self.shape:
            found._formula = self._formula  # plus <0>
        elif self.wide or other.wide:
            parts = [(self.formula, 1, self.shape), (other.formula, sign, other.shape)]
            found._formula = sum_of(parts, self.primes)
        return found

    def _plus(self, other: Public, sign: int) -> Formula | None:
        """The formula of a product plus a public number, or minus it."""
        if self._formula is None:
            return None
        value = self._public(other)
        public = of_number(value, value.shape[1:], self.primes)
        return sum_of([(self._formula, 1, self.shape), (public, sign, value.shape[1:])], self.primes)

    def _narrow(self, other: "Shared") -> None:
        if self.wide or other.wide:
            raise SecFCError("a product is multiplied: it must be reduced before")

    def _public(self, value: Public) -> Floats:
        array = np.asarray(value)
        residues: Floats = array % moduli(self.primes, 1 + array.ndim)
        return self._reduced(residues)

    def _reduced(self, values: Floats) -> Floats:
        return reduce(values, moduli(self.primes, values.ndim))


def joined(parts: list[Shared], axis: int) -> Shared:
    """Shared arrays along an axis of their shapes."""
    first, formula = parts[0], None
    shape = list(first.shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    residues = [part.residues for part in parts if part.residues is not None]
    found = np.concatenate(residues, axis=axis + 1) if len(residues) == len(parts) else None
    if any(part.wide for part in parts):
        formula = of_joined([(part.formula, part.shape) for part in parts], axis)
    return Shared(first.primes, tuple(shape), found, formula=formula)


def _aligned(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Axes of length 1 after that of the primes, so that both broadcast from the last axis on."""
    dims = max(first.ndim, second.ndim)
    one, other = (a.reshape(a.shape[0], *[1] * (dims - a.ndim), *a.shape[1:]) for a in (first, second))
    return one, other


def _shape_of(of: Any, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(of, np.ufunc):
        return np.broadcast_shapes(first, second)
    return (*first[:-1], second[-1])
