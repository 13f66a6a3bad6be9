"""Inner products of long vectors, made shorter block by block.

Two vectors are cut into blocks, and polynomials of degree below the number of blocks go through them at 0, 1,
2, and so on. Their inner product h is a polynomial too, and its values at the blocks add up to the inner
product of the whole vectors. At a point that is tossed after the values of h were fixed, h is the inner
product of two vectors that are as long as one block. If a value was wrong, h is wrong there too, unless the
point is one of at most deg h zeros (Boneh, Boyle, Corrigan-Gibbs, Gilboa, Ishai, CRYPTO 2019).
"""

from collections.abc import Iterator, Sequence
from functools import cache
from math import factorial
from typing import Any

import numpy as np

from secfc.field.array_types import Floats
from secfc.field.residues import BLOCK, inverse, matmul, reduce
from secfc.lagrange.basis import lagrange_basis
from secfc.sharing.formula import Arrays, Pair, moduli

BLOCKS = 8

_AT_ONCE = 1 << 17
"""Numbers of a vector that are folded at a time."""


class Vectors:
    """Pairs of vectors one after another, with zeros at the end up to a length."""

    def __init__(self, pairs: Sequence[Pair], shape: tuple[int, int], length: int) -> None:
        self._pairs, self.shape, self.length = pairs, shape, length

    def part(self, start: int, stop: int) -> Arrays:
        """Some of their numbers, shape (P, combinations or 1, stop - start)."""
        found, at = list[Arrays](), 0
        for first, second in self._pairs:
            size = first.shape[2]
            if at < stop and start < at + size:
                own = slice(max(start - at, 0), min(stop - at, size))
                found.append((_numbers(first[:, :, own]), _numbers(second[:, :, own])))
            at += size
        filling = stop - max(start, min(at, stop))
        return self._joined([a for a, _ in found], filling), self._joined([b for _, b in found], filling)

    def _joined(self, parts: list[Floats], filling: int) -> Floats:
        if len(parts) == 1 and not filling and len(parts[0]) == self.shape[0]:
            return parts[0]
        count = max([part.shape[1] for part in parts], default=1)
        size = sum(part.shape[2] for part in parts) + filling
        found, at = np.zeros((self.shape[0], count, size)), 0
        for part in parts:
            found[: len(part), :, at : at + part.shape[2]] = part
            at += part.shape[2]
        return found


def _numbers(part: Any) -> Floats:
    found: Floats = part.astype(np.float64, copy=False)
    return found


def products(first: Floats, second: Floats, primes: tuple[int, ...]) -> Floats:
    """Inner products along the last axis, reduced. All other axes but the first broadcast."""
    length = first.shape[-1]
    if length % BLOCK:
        filling = [(0, 0)] * (first.ndim - 1) + [(0, -length % BLOCK)]
        first, second = np.pad(first, filling), np.pad(second, filling)
    parts = [one.reshape(*one.shape[:-1], -1, BLOCK) for one in (first, second)]
    sums = reduce(np.einsum("...i,...i->...", *parts), moduli(primes, first.ndim))
    return reduce(sums.sum(axis=-1), moduli(primes, first.ndim - 1))


class Fold:
    """Vectors in blocks, with `hidden` ones after them, shape (P, combinations, block length), if given.

    Hidden blocks are uniform. With them the vectors at a point are uniform too.
    """

    def __init__(self, vectors: Vectors, primes: tuple[int, ...], hidden: Arrays | None = None) -> None:
        self._vectors, self._primes, self._hidden = vectors, primes, hidden
        self._length, self._nodes = block_length(vectors.length), BLOCKS + (hidden is not None)

    def values(self) -> Floats:
        """H at the nodes, shape (P, combinations, values_of(hides))."""
        basis = _beyond(self._nodes, self._primes)
        total = np.zeros((*self._vectors.shape, 2 * self._nodes - 1))
        for _, both in self._parts():
            first, second = (
                np.concatenate([own, matmul(basis[:, np.newaxis], own, moduli(self._primes, 4))], axis=2)
                for own in both
            )
            total += products(first, second, self._primes)
        return reduce(total, moduli(self._primes, 3))

    def at(self, points: Floats) -> Arrays:
        """The vectors at a point for each prime and combination, shape (P, combinations, block length)."""
        basis = weights(self._nodes, points, self._primes)[:, :, np.newaxis]
        found = np.empty((2, *self._vectors.shape, self._length))
        for part, both in self._parts():
            for out, own in zip(found, both, strict=True):
                out[..., part] = matmul(basis, own, moduli(self._primes, 4))[:, :, 0]
        return found[0], found[1]

    def _parts(self) -> Iterator[tuple[slice, Arrays]]:
        """Slices of a block, with this part of all blocks: shape (P, combinations or 1, nodes, size)."""
        step = max(1, _AT_ONCE // BLOCKS)
        for start in range(0, self._length, step):
            stop = min(start + step, self._length)
            blocks = [
                self._vectors.part(j * self._length + start, j * self._length + stop) for j in range(BLOCKS)
            ]
            if self._hidden is not None:
                blocks.append((self._hidden[0][..., start:stop], self._hidden[1][..., start:stop]))
            yield slice(start, stop), (_stacked([a for a, _ in blocks]), _stacked([b for _, b in blocks]))


def _stacked(blocks: list[Floats]) -> Floats:
    count = max(one.shape[1] for one in blocks)
    shape = blocks[0].shape[0], count, blocks[0].shape[2]
    return np.stack([np.broadcast_to(one, shape) for one in blocks], axis=2)


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
    products = [factorial(j) * factorial(nodes - 1 - j) * (-1) ** (nodes - 1 - j) for j in range(nodes)]
    return np.array([[inverse(one, p) for one in products] for p in primes], dtype=np.float64)


@cache
def _beyond(nodes: int, primes: tuple[int, ...]) -> Floats:
    """Weights of values at nodes for those at as many nodes after them but one: shape (P, points, nodes)."""
    at = range(nodes, 2 * nodes - 1)
    return np.stack([lagrange_basis(list(range(nodes)), list(at), p) for p in primes])
