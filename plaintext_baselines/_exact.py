"""Exact versions of Lloyd's operations on whole numbers: a float64 filter, then rational numbers (GMP).

A matrix product gives the distances of every row to all centres in float64, with a bound on their error.
Where the bound does not decide, rationals do. Sums and the inertia are always exact.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, lcm

import numpy as np
from gmpy2 import mpq

from plaintext_baselines._arrays import BoolArray, FloatArray, IntArray, Integers
from plaintext_baselines._floats import NearestCentres, blocks, set_sums


@dataclass(frozen=True, eq=False)
class Centre:
    """The point ``total / size`` in units of the quantised rows. For a mean, `size` is the rows' weight."""

    total: Integers
    size: int

    @classmethod
    def of_floats(cls, point: FloatArray, unit: Fraction) -> "Centre":
        """Exactly ``point / unit``."""
        scaled = [mpq(entry) / mpq(unit) for entry in point.tolist()]
        size = lcm(*(int(entry.denominator) for entry in scaled))
        return cls(np.array([int(entry * size) for entry in scaled], dtype=object), int(size))

    def to_floats(self, unit: Fraction) -> list[float]:
        """``total / size * unit``, correctly rounded."""
        above, below = unit.as_integer_ratio()
        return [ratio_to_float(entry * above, self.size * below) for entry in self.total.tolist()]

    def squared_distance(self, row: FloatArray) -> mpq:
        """Squared distance to a row of whole numbers."""
        step = self.total - self.size * np.array([int(entry) for entry in row.tolist()], dtype=object)
        return mpq(step @ step, self.size**2)


Centres = Sequence[Centre | None]  # one for each cluster, None for an empty one


class ExactRows:
    """Exact arithmetic on the rows of the pool, fewer than 2^26 rows with fewer than 2^22 columns.

    Rows are whole numbers in float64: the data over the unit, rounded. `weights`, int64 of shape
    (n_rows,), are at least 1 and below 2^30 in all.
    """

    def __init__(
        self, rows: FloatArray, n_clusters: int, unit: Fraction, weights: IntArray | None = None
    ) -> None:
        assert 0 < len(rows) < 2**26
        self._weights = np.ones(len(rows), dtype=np.int64) if weights is None else weights
        assert 0 < self._weights.min() <= self._weights.sum() < 2**30
        assert 0 < rows.shape[1] < 2**22
        self.n_clusters = n_clusters
        self._unit = unit
        self._rows = rows
        self._bits = int(np.frexp(np.abs(rows).max())[1])
        with np.errstate(over="ignore"):
            self._squares = np.einsum("ij,ij->i", rows, rows)
        self._summed: tuple[IntArray, Integers] | None = None

    def means(self, sets: IntArray) -> Centres:
        """Means of the sets. An empty set gives None, which is never chosen."""
        sums, weights = self._sums(sets), self._weight_of(sets)
        return [
            Centre(total, weight) if weight else None for total, weight in zip(sums, weights, strict=True)
        ]

    def _weight_of(self, sets: IntArray) -> list[int]:
        inside = sets >= 0
        totals = np.bincount(sets[inside], weights=self._weights[inside], minlength=self.n_clusters)
        return [int(total) for total in totals]

    def assign(self, centres: Centres) -> NearestCentres:
        """Nearest centre of every row."""
        found = Filter(self._rows, self._squares, centres)
        labels = np.empty(len(self._rows), dtype=np.int64)
        own = np.empty(len(self._rows))
        for block in blocks(len(self._rows), self.n_clusters):
            distances, error = found.distances(block)
            rivals = distances <= distances.min(axis=1, keepdims=True) + 2 * error
            best = rivals.argmax(axis=1)
            for row in np.flatnonzero(rivals.sum(axis=1) > 1):
                contested = np.flatnonzero(rivals[row]).tolist()
                exact = [self._distance(block.start + row, centres[found.clusters[at]]) for at in contested]
                best[row] = contested[exact.index(min(exact))]  # ties go to the lowest cluster
            labels[block] = found.clusters[best]
            own[block] = distances[np.arange(len(best)), best]
        return NearestCentres(labels, (own - found.error, own + found.error))

    def inertia(self, centres: Centres, assignment: NearestCentres) -> float:
        """Sum of the squared distances of `assignment`, in the data's units."""
        # Over a set of n rows with sum T, sum_i ||x_i - c||^2 = sum_i ||x_i||^2 + n ||c||^2 - 2 <c, T>. With
        # weights, n and all sums are weighted.
        total = mpq(self._sum_of_squares)
        sizes = self._weight_of(assignment.labels)
        for centre, sums, size in zip(centres, self._sums(assignment.labels), sizes, strict=True):
            if centre and size:
                above = size * (centre.total @ centre.total) - 2 * centre.size * (centre.total @ sums)
                total += mpq(above, centre.size**2)
        above, below = (self._unit**2).as_integer_ratio()
        return ratio_to_float(int(total.numerator) * above, int(total.denominator) * below)

    def score(self, centres: Centres, assignment: NearestCentres, spare: int = 16) -> int:
        """The score of a start: distances weighted by whole numbers (see `n_init` of `ExactLloyd`)."""
        squares = np.zeros(self.n_clusters, dtype=object)
        for block in blocks(*self._rows.shape):
            np.add.at(squares, assignment.labels[block], self._squares_of(block))
        length, score = int(self._weights.sum()).bit_length(), 0
        bits = 2 * length + spare + max(0, length - 14)
        counts = self._weight_of(assignment.labels)
        for at, (centre, sums) in enumerate(zip(centres, self._sums(assignment.labels), strict=True)):
            if centre and counts[at]:
                # Over the rows x of a set, sum ||T - s x||^2 = n ||T||^2 - 2 s <T, sum x> + s^2 sum ||x||^2.
                above = counts[at] * (centre.total @ centre.total) - 2 * centre.size * (centre.total @ sums)
                distances = above + centre.size**2 * squares[at]
                score += _reciprocal(centre.size, bits) * int(distances)
        return score

    def farthest(self, centres: Centres, assignment: NearestCentres, count: int) -> list[int]:
        """The `count` rows farthest from their own centre, farthest first, ties by the lowest row.

        Empty if even the farthest row lies on its centre.
        """
        lower, upper = assignment.distances
        # If a row's upper bound is below `count` lower bounds, at least `count` rows are farther than it.
        threshold = np.partition(lower, len(lower) - count)[len(lower) - count]
        rows = np.flatnonzero(upper >= threshold).tolist()
        exact = {row: self._distance(row, centres[assignment.labels[row]]) for row in rows}
        order = sorted(rows, key=lambda row: (-exact[row], row))
        return order[:count] if exact[order[0]] else []

    def separated(self, centres: Centres, assignment: NearestCentres) -> BoolArray:
        """Whether each row is at most 1/3 as far from its own centre as from every other existing centre."""
        lower, upper = assignment.distances
        found = Filter(self._rows, self._squares, centres)
        core = np.ones(len(self._rows), dtype=np.bool_)
        for block in blocks(len(self._rows), self.n_clusters):
            distances, error = found.distances(block)
            # 9 is the square of 3, the ratio of distances.
            near = distances + error < 9 * lower[block, None]
            unsure = ~near & (distances - error < 9 * upper[block, None])
            others = found.clusters != assignment.labels[block, None]
            core[block] = ~(others & near).any(axis=1)
            for offset, at in np.argwhere(others & unsure & core[block, None]).tolist():
                row = block.start + offset
                own = self._distance(row, centres[assignment.labels[row]])
                core[row] &= 9 * own <= self._distance(row, centres[found.clusters[at]])
        return core

    def distances_from(self, row: int) -> Integers:
        """Squared distances of all rows to one of them, shape (n_rows,). Rows have at most 52 bits."""
        return np.concatenate(
            [
                squared_norms(self._rows[block] - self._rows[row], self._bits + 1)
                for block in blocks(*self._rows.shape)
            ]
        )

    def _distance(self, row: int, centre: Centre | None) -> mpq:
        assert centre is not None
        return centre.squared_distance(self._rows[row])

    @cached_property
    def _sum_of_squares(self) -> int:
        return sum(int(self._squares_of(b).sum()) for b in blocks(*self._rows.shape))

    def _squares_of(self, block: slice) -> Integers:
        """Squared norms of some rows, each multiplied by the row's weight."""
        squares: Integers = squared_norms(self._rows[block], self._bits) * self._weights[block].astype(object)
        return squares

    def _sums(self, sets: IntArray) -> Integers:
        """Exact weighted sums of the sets' rows, shape (n_clusters, n_features). The last ones are cached."""
        if self._summed is None or not np.array_equal(self._summed[0], sets):
            # Sums of whole numbers below 2^width, with this total weight, are exact in float64.
            width = 53 - int(self._weights.sum()).bit_length()
            sums = np.zeros((self.n_clusters, self._rows.shape[1]), dtype=object)
            for at, digit in enumerate(digits(self._rows, self._bits, width)):
                part = set_sums(digit * self._weights[:, None], sets, self.n_clusters)
                sums += part.astype(np.int64).astype(object) << at * width
            self._summed = (sets.copy(), sums)
        return self._summed[1]


def _reciprocal(size: int, bits: int) -> int:
    """About 2^bits / size^2: that of the first 14 bits of the size, and a linear change for the others."""
    zeros = max(0, size.bit_length() - 14)
    first = size >> zeros << zeros
    slope = Fraction(-(2 << bits), first**3) if size >= 2**14 else Fraction(0)
    return (1 << bits) // first**2 + floor(slope + Fraction(1, 2)) * (size - first)


class Filter:
    """Squared distances in float64, and a bound on their error.

    With u = 2^-53, g the largest norm of a centre and r a row's norm, to first order:

    - a centre rounded to float64 has error u g, so the square of its norm has error (d + 2) u g^2;
    - its product with the row has error (d + 1) u r g, in any order of additions in BLAS;
    - twice that, and the subtraction, make at most (d + 4) u g (g + 2 r);
    - adding ||row||^2, which has error d u r^2, makes at most (d + 5) u (g + r)^2.

    The bound of 2 (d + 8) u (g + r)^2 also covers the terms of second order (d u < 2^-30) and the rounding of
    g, r, the bound and comparisons with it. 2^-900 is far above the loss by underflow, 2^-1074 in each of
    fewer than 2^32 operations. If g + r >= 2^500, an operation might overflow, so the error is infinite.

    `squares` are ||row||^2, inf beyond float64. `clusters` have a centre, ascending. `error`: (n_rows,).
    """

    def __init__(self, rows: FloatArray, squares: FloatArray, centres: Centres) -> None:
        self.clusters = np.array([h for h, centre in enumerate(centres) if centre], dtype=np.int64)
        floats = np.array([centre.to_floats(Fraction(1)) for centre in centres if centre])
        self._rows, self._squares = rows, squares
        with np.errstate(over="ignore"):
            self._offsets = np.einsum("ij,ij->i", floats, floats)
            self._weights = np.ascontiguousarray(-2.0 * floats.T)
        reach = np.sqrt(self._offsets.max()) + np.sqrt(squares)
        self._known = reach < 2.0**500
        self.error = np.full(len(rows), np.inf)
        self.error[self._known] = 2 * (rows.shape[1] + 8) * 2.0**-53 * reach[self._known] ** 2 + 2.0**-900

    def distances(self, block: slice) -> tuple[FloatArray, FloatArray]:
        """Distances of these rows to all existing centres, and the bound on their error, shape (rows, 1)."""
        with np.errstate(over="ignore", invalid="ignore"):
            distances: FloatArray = self._rows[block] @ self._weights
            distances += self._offsets
            distances += self._squares[block, None]
        distances[~self._known[block]] = 0.0  # any number, since the error is infinite
        return distances, self.error[block, None]


def digits(whole: FloatArray, bits: int, width: int) -> Iterator[FloatArray]:
    """Whole numbers |x| < 2^bits as sum_j d_j 2^(j width) with whole |d_j| < 2^width, the lowest first."""
    while bits > width:
        upper = np.trunc(whole * 2.0**-width)
        yield whole - upper * 2.0**width
        whole, bits = upper, bits - width
    yield whole


def squared_norms(whole: FloatArray, bits: int) -> Integers:
    """Squared norms of rows of whole numbers |x| < 2^bits, shape (n_rows,)."""
    parts = [digit.astype(np.int64) for digit in digits(whole, bits, 26)]
    total = np.zeros(len(whole), dtype=object)
    for i, left in enumerate(parts):
        for j, right in enumerate(parts):
            for first in range(0, whole.shape[1], 1024):  # 2^10 products below 2^52 are exact in int64
                columns = slice(first, first + 1024)
                products = np.einsum("ij,ij->i", left[:, columns], right[:, columns])
                total += products.astype(object) << 26 * (i + j)
    return total


def ratio_to_float(above: int, below: int) -> float:
    """The float64 nearest to ``above / below``, inf beyond its range."""
    try:
        return above / below  # Python rounds this quotient correctly, GMP would truncate it
    except OverflowError:
        return np.inf if above > 0 else -np.inf
