"""Inner products of long vectors, made shorter block by block.

Two vectors are cut into blocks, and polynomials of degree below the number of blocks go through them at 0, 1,
2, and so on. Their inner product h is a polynomial too, and its values at the blocks add up to the inner
product of the whole vectors. At a point that is tossed after the values of h were fixed, h is the inner
product of two vectors that are as long as one block. If a value was wrong, h is wrong there too, unless the
point is one of at most deg h zeros (Boneh, Boyle, Corrigan-Gibbs, Gilboa, Ishai, CRYPTO 2019).
"""

from collections.abc import Callable, Sequence
from functools import cache
from math import factorial, prod
from typing import TypeVar

import numpy as np

from secfc.field.array_types import Floats
from secfc.field.residues import inverse, matmul, reduce
from secfc.kernels.threads import Threads
from secfc.lagrange.basis import lagrange_basis
from secfc.sharing.formula import Arrays, Pair, moduli, products

Found = TypeVar("Found")

BLOCKS = 8

_AT_ONCE = 1 << 14
"""Numbers of a vector that are folded at a time: with three combinations and five primes about 2 MB."""


class Vectors:
    """Pairs of vectors one after another, with zeros at the end up to a length.

    `counts` are how many the first and the second of a pair are at most: as many as combinations, or 1.
    """

    def __init__(self, pairs: Sequence[Pair], shape: tuple[int, int], length: int) -> None:
        self._pairs, self.shape, self.length = pairs, shape, length
        self.counts = [max([one.shape[1] for one in side], default=1) for side in zip(*pairs, strict=True)]

    def copy(self, start: int, out: Arrays) -> None:
        """Copy their numbers from `start` on into arrays of zeros, shapes (P, count, size)."""
        at, stop = 0, start + out[0].shape[2]
        for pair in self._pairs:
            size = pair[0].shape[2]
            low, high = max(start, at), min(stop, at + size)
            if low < high:
                for own, one in zip(out, pair, strict=True):
                    own[: one.shape[0], :, low - start : high - start] = one[:, :, low - at : high - at]
            at += size


class Fold:
    """Vectors in blocks, with `hidden` ones after them, shape (P, combinations, block length), if given.

    Hidden blocks are uniform. With them the vectors at a point are uniform too. They are given where vectors
    are short, so all blocks are kept.
    """

    def __init__(
        self, vectors: Vectors, primes: tuple[int, ...], threads: Threads, hidden: Arrays | None = None
    ) -> None:
        self._vectors, self._primes, self._threads = vectors, primes, threads
        self._length, self._nodes = block_length(vectors.length), BLOCKS + (hidden is not None)
        self._kept = None if hidden is None else self._blocks(slice(0, self._length), hidden)

    def values(self) -> Floats:
        """H at the nodes, shape (P, combinations, values_of(hides))."""
        basis, by = _everywhere(self._nodes, self._primes)[:, np.newaxis], moduli(self._primes, 4)

        def of_part(part: slice) -> Floats:
            first, second = self._kept or self._blocks(part)
            return matmul(first, second.swapaxes(2, 3), by)

        total = np.sum(self._of_parts(of_part), axis=0)
        return products(matmul(basis, reduce(total, by), by), basis, self._primes)

    def at(self, points: Floats) -> Arrays:
        """The vectors at a point for each prime and combination, shape (P, combinations, block length)."""
        basis = weights(self._nodes, points, self._primes)[:, :, np.newaxis]
        found = np.empty((2, *self._vectors.shape, self._length))

        def of_part(part: slice) -> None:
            for out, own in zip(found, self._kept or self._blocks(part), strict=True):
                out[..., part] = matmul(basis, own, moduli(self._primes, 4))[:, :, 0]

        self._of_parts(of_part)
        return found[0], found[1]

    def _of_parts(self, work: Callable[[slice], Found]) -> list[Found]:
        """The results for all slices of a block."""
        step = self._length if self._kept else _AT_ONCE // BLOCKS
        every = [slice(start, min(start + step, self._length)) for start in range(0, self._length, step)]
        return self._threads.each(work, every, size=prod(self._vectors.shape) * self._vectors.length)

    def _blocks(self, part: slice, hidden: Arrays | None = None) -> Arrays:
        """A part of all blocks, and hidden ones: shape (P, combinations or 1, nodes, size)."""
        primes, combinations = self._vectors.shape
        counts = self._vectors.counts if hidden is None else (combinations, combinations)
        first, second = (np.zeros((primes, one, self._nodes, part.stop - part.start)) for one in counts)
        for j in range(BLOCKS):
            self._vectors.copy(j * self._length + part.start, (first[:, :, j], second[:, :, j]))
        if hidden is not None:
            first[:, :, BLOCKS], second[:, :, BLOCKS] = hidden
        return first, second


def values_of(*, hides: bool) -> int:
    """How many values of h there are."""
    return 2 * (BLOCKS + hides) - 1


def block_length(length: int) -> int:
    """Length of a block."""
    return -(-length // BLOCKS)


def value_at(values: Floats, points: Floats, primes: tuple[int, ...]) -> Floats:
    """H at a point, shape (P, combinations), from its values."""
    return products(values, weights(values.shape[2], points, primes), primes)


def weights(nodes: int, points: Floats, primes: tuple[int, ...]) -> Floats:
    """Weights of values at 0, 1, and so on for those at points, shape (P, combinations, nodes).

    Points have shape (P, combinations) and are none of the nodes.
    """
    by = moduli(primes, 3)
    apart = reduce(points[..., np.newaxis] - np.arange(nodes), by)
    others = _products_before(apart, by) * _products_before(apart[..., ::-1], by)[..., ::-1]
    return reduce(reduce(others, by) * _scales(nodes, primes)[:, np.newaxis], by)


def _products_before(numbers: Floats, by: Floats) -> Floats:
    """The product of all numbers before each one along the last axis, 1 for the first."""
    found, shift = np.ones_like(numbers), 1
    found[..., 1:] = numbers[..., :-1]
    while shift < numbers.shape[-1]:
        found[..., shift:] = reduce(found[..., shift:] * found[..., :-shift], by)
        shift *= 2
    return found


@cache
def _scales(nodes: int, primes: tuple[int, ...]) -> Floats:
    """1 / (j! (K - 1 - j)! (-1)^(K - 1 - j)) for each of K nodes, shape (P, nodes)."""
    divisors = [factorial(j) * factorial(nodes - 1 - j) * (-1) ** (nodes - 1 - j) for j in range(nodes)]
    return np.array([[inverse(one, p) for one in divisors] for p in primes], dtype=np.float64)


@cache
def _everywhere(nodes: int, primes: tuple[int, ...]) -> Floats:
    """Weights of values at nodes for those at twice as many nodes but one: shape (P, points, nodes)."""
    beyond = range(nodes, 2 * nodes - 1)
    every = [lagrange_basis(range(nodes), beyond, p) for p in primes]
    return np.stack([np.concatenate([np.eye(nodes), one]) for one in every])
