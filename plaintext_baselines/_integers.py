"""Lloyd's operations in Python's integers and fractions: obviously right, for small data."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from plaintext_baselines._ratios import Integers, RationalCentres, ratio_to_float
from plaintext_baselines._rounds import Assignment, BoolArray

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class PythonIntegers:
    """Exact arithmetic without any bound on the numbers.

    Parameters
    ----------
    pool : ndarray of shape (n_rows, n_features), float64
        Whole numbers: the data times ``2^exponent``, rounded.
    n_clusters : int
    exponent : int
    """

    def __init__(self, pool: FloatArray, n_clusters: int, exponent: int) -> None:
        self.n_clusters = n_clusters
        self._exponent = exponent
        self._n_features = pool.shape[1]
        self._rows = [[int(entry) for entry in row] for row in pool.tolist()]

    def means(self, sets: IntArray) -> RationalCentres:
        sums = [[0] * self._n_features for _ in range(self.n_clusters)]
        sizes = [0] * self.n_clusters
        for row, cluster in zip(self._rows, sets.tolist(), strict=True):
            if cluster >= 0:
                sums[cluster] = [total + entry for total, entry in zip(sums[cluster], row, strict=True)]
                sizes[cluster] += 1
        return RationalCentres(np.array(sums, dtype=object), tuple(sizes))

    def assign(self, centres: RationalCentres) -> Assignment:
        labels, own = [], []
        for distances in self._distances(centres):
            label = min(distances, key=distances.__getitem__)  # the first, hence lowest, of equals
            labels.append(label)
            own.append(distances[label])
        return Assignment(np.array(labels, dtype=np.int64), own)

    def inertia(self, centres: RationalCentres, assignment: Assignment) -> float:
        total = sum(assignment.distances, Fraction(0))
        return ratio_to_float(total.numerator, total.denominator, 2 * self._exponent)

    def farthest(self, centres: RationalCentres, assignment: Assignment, count: int) -> list[int]:
        own: list[Fraction] = assignment.distances
        if max(own) == 0:
            return []
        return sorted(range(len(own)), key=lambda row: (-own[row], row))[:count]

    def separated(self, centres: RationalCentres, assignment: Assignment) -> BoolArray:
        # 9: squares of the distances' ratio 3.
        core = [
            all(9 * distances[own] <= other for cluster, other in distances.items() if cluster != own)
            for distances, own in zip(self._distances(centres), assignment.labels.tolist(), strict=True)
        ]
        return np.array(core, dtype=np.bool_)

    def distances_from(self, row: int) -> Integers:
        """Squared distances of all rows to one of them."""
        origin = self._rows[row]
        found = np.empty(len(self._rows), dtype=object)
        for at, other in enumerate(self._rows):
            found[at] = sum((x - y) ** 2 for x, y in zip(other, origin, strict=True))
        return found

    def _distances(self, centres: RationalCentres) -> list[dict[int, Fraction]]:
        """Squared distances of each row to every existing centre, clusters ascending."""
        existing = [
            (cluster, numerator.tolist(), denominator)
            for cluster, (numerator, denominator) in enumerate(
                zip(centres.numerators, centres.denominators, strict=True)
            )
            if denominator > 0
        ]
        return [
            {
                cluster: Fraction(
                    sum((above - below * x) ** 2 for above, x in zip(numerator, row, strict=True)), below**2
                )
                for cluster, numerator, below in existing
            }
            for row in self._rows
        ]
