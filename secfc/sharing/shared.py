"""Shared arrays, with the arithmetic that holders do alone: sums, multiples and one product.

Every party has the same `Shared`. A holder has its residues in it, another party only the shape. So one
program computes for all, and no party asks itself what it is.
"""

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any, Self

import numpy as np

from secfc.errors import SecFCError
from secfc.field.array_types import Floats
from secfc.field.residues import matmul, reduce

Public = int | np.ndarray[Any, np.dtype[np.int64]]
"""A public integer, or an array of them, below 2**53 in magnitude."""


class Shared:
    """Shares of an array: [x], or <x> if `wide`, which is a product of two [x] and is multiplied no more.

    `residues`, shape (P, *shape), are reduced. They are None at a party that holds no shares.
    """

    def __init__(
        self, primes: tuple[int, ...], shape: tuple[int, ...], residues: Floats | None, *, wide: bool = False
    ) -> None:
        self.primes, self.shape, self.residues, self.wide = primes, shape, residues, wide
        if residues is not None and residues.shape != (len(primes), *shape):
            raise SecFCError(f"shares of shape {residues.shape} given, {(len(primes), *shape)} needed")

    def __repr__(self) -> str:
        return f"Shared(shape={self.shape}, wide={self.wide})"

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def __add__(self, other: "Shared | Public") -> Self:
        if isinstance(other, Shared):
            return self._with(other, np.add, self.wide or other.wide)
        return self._made(lambda own: self._reduced(own + self._public(other)))

    def __sub__(self, other: "Shared | Public") -> Self:
        if isinstance(other, Shared):
            return self._with(other, np.subtract, self.wide or other.wide)
        return self._made(lambda own: self._reduced(own - self._public(other)))

    def __rsub__(self, other: Public) -> Self:
        return self._made(lambda own: self._reduced(self._public(other) - own))

    def __mul__(self, other: "Shared | Public") -> Self:
        if isinstance(other, Shared):
            self._narrow(other)
            return self._with(other, np.multiply, True)
        return self._made(lambda own: self._reduced(own * self._public(other)))

    def __matmul__(self, other: "Shared") -> Self:
        self._narrow(other)
        return self._with(other, lambda a, b: matmul(a, b, _moduli(self.primes, a.ndim)), True)

    def __getitem__(self, index: Any) -> Self:
        inner = index if isinstance(index, tuple) else (index,)
        return self._made(lambda own: own[:, *inner], lambda: np.empty(self.shape, np.bool_)[inner].shape)

    def sum(self, axis: int) -> Self:
        """The sum along an axis of the shape."""
        return self._made(
            lambda own: self._reduced(own.sum(axis=axis + 1)),
            lambda: self.shape[:axis] + self.shape[axis + 1 :],
        )

    def running(self) -> Self:
        """The sums of the first elements, for each number of them, of an array with one axis."""
        return self._made(lambda own: self._reduced(own.cumsum(axis=1)))  # exact for up to 2**29 elements

    def reshape(self, *shape: int) -> Self:
        """The same elements in another shape, of which one length may be -1."""
        return self._made(
            lambda own: own.reshape(len(self.primes), *shape),
            lambda: np.empty(self.shape, np.bool_).reshape(shape).shape,
        )

    def modulo_first(self) -> Self:
        """The same modulo the first prime alone."""
        found = None if self.residues is None else self.residues[:1]
        return type(self)(self.primes[:1], self.shape, found, wide=self.wide)

    def _made(
        self, of: Callable[[Floats], Floats], shape: Callable[[], tuple[int, ...]] | None = None
    ) -> Self:
        """The result of `of` at a holder, and its shape at another party; by default the same shape."""
        found = None if self.residues is None else of(self.residues)
        if shape is None:
            return type(self)(self.primes, self.shape, found, wide=self.wide)
        of_result = shape() if found is None else found.shape[1:]
        return type(self)(self.primes, of_result, found, wide=self.wide)

    def _with(self, other: "Shared", of: Callable[[Floats, Floats], Floats], wide: bool) -> Self:
        if self.residues is None or other.residues is None:
            return type(self)(self.primes, _shape_of(of, self.shape, other.shape), None, wide=wide)
        found = self._reduced(of(*_aligned(self.residues, other.residues)))
        return type(self)(self.primes, found.shape[1:], found, wide=wide)

    def _narrow(self, other: "Shared") -> None:
        if self.wide or other.wide:
            raise SecFCError("a product is multiplied: it must be reduced before")

    def _public(self, value: Public) -> Floats:
        array = np.asarray(value)
        residues: Floats = array % _moduli(self.primes, 1 + max(array.ndim, len(self.shape)))
        return residues

    def _reduced(self, values: Floats) -> Floats:
        return reduce(values, _moduli(self.primes, values.ndim))


@cache
def _moduli(primes: tuple[int, ...], ndim: int) -> Floats:
    """The primes on the first of so many axes."""
    return np.array(primes, dtype=np.float64).reshape(-1, *[1] * (ndim - 1))


def joined(parts: list[Shared], axis: int) -> Shared:
    """Shared arrays along an axis of their shapes."""
    first = parts[0]
    shape = list(first.shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    residues = [part.residues for part in parts if part.residues is not None]
    found = np.concatenate(residues, axis=axis + 1) if len(residues) == len(parts) else None
    return Shared(first.primes, tuple(shape), found, wide=any(part.wide for part in parts))


def _aligned(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Axes of length 1 after that of the primes, so that both broadcast from the last axis on."""
    dims = max(first.ndim, second.ndim)
    one, other = (a.reshape(a.shape[0], *[1] * (dims - a.ndim), *a.shape[1:]) for a in (first, second))
    return one, other


def _shape_of(of: Any, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(of, np.ufunc):
        return np.broadcast_shapes(first, second)
    return (*first[:-1], second[-1])
