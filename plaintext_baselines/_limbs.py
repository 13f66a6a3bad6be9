"""Exact k-means at NumPy's speed: float64 where a proven bound decides, integers of several limbs elsewhere.

Rows are whole numbers of at most 2^53, exact in float64; centres are rationals. One matrix product gives the
distances of every row to all centres in float64. A bound on its rounding error tells the rows whose order is
certain from the near-ties, and only the latter's distances are computed exactly. Sums and the inertia are
exact throughout, the latter from the sets' sums alone.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from plaintext_baselines._floats import blocks, set_sizes, set_sums
from plaintext_baselines._ratios import Integers, RationalCentres, ratio_to_float, sum_of_ratios
from plaintext_baselines._rounds import Assignment, BoolArray

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

UNIT_ROUNDOFF = 2.0**-53

# Part of every error bound: far above what underflow can lose (2^-1074 an operation, below 2^32 of them), far
# below any difference of distances that quantised rows and their means can have.
UNDERFLOW = 2.0**-900

# Limb width of the total of squares: products below 2^40, and BLOCK_ENTRIES = 2^18 of them below 2^58.
SQUARE_LIMB = 20


class Limbs:
    """Exact arithmetic on rows of at most 53 bits, vectorised in blocks of rows.

    Parameters
    ----------
    pool : ndarray of shape (n_rows, n_features), float64
        Whole numbers |x| <= 2^52: the data times ``2^exponent``, rounded. Fewer than 2^26 rows, 2^22 columns.
    n_clusters : int
    exponent : int
    """

    def __init__(self, pool: FloatArray, n_clusters: int, exponent: int) -> None:
        n_rows, n_features = pool.shape
        assert 0 < n_rows < 2**26
        assert 0 < n_features < 2**22
        assert float(np.abs(pool).max()) <= 2**52
        self.n_clusters = n_clusters
        self._exponent = exponent
        # Distances do not change under a common translation, and near 0 they cancel less. A shift within each
        # column's range keeps |row - shift| <= 2^53, so the subtraction is exact.
        shift = np.clip(np.rint(pool.mean(axis=0)), pool.min(axis=0), pool.max(axis=0))
        self._shift = [int(entry) for entry in shift.tolist()]
        self._rows = pool - shift
        self._bits = int(np.abs(self._rows).max()).bit_length()
        self._squares = np.einsum("ij,ij->i", self._rows, self._rows)
        self._sum_of_squares = _sum_of_squares(self._rows, self._bits)
        self._summed: tuple[IntArray, Integers] | None = None

    def means(self, sets: IntArray) -> RationalCentres:
        sizes = set_sizes(sets, self.n_clusters).tolist()
        return RationalCentres(self._sums(sets), tuple(sizes)).translated(self._shift)

    def assign(self, centres: RationalCentres) -> Assignment:
        local = self._localise(centres)
        eligible = _first_of_equals(local)
        scorer = _Scorer(local, eligible, self._squares)
        labels = np.empty(len(self._rows), dtype=np.int64)
        distances = np.empty(len(self._rows))
        near: list[tuple[IntArray, IntArray]] = []
        for block in blocks(len(self._rows), self.n_clusters):
            scores = scorer.scores(self._rows[block])
            best = scores.min(axis=1, keepdims=True)
            distances[block] = best[:, 0] + self._squares[block]
            with np.errstate(invalid="ignore"):
                # Both scores may be off by the slack. Negated, so that inf and nan count as rivals too.
                rivals = ~(scores > best + 2 * scorer.slack[block, None])
            rivals &= eligible
            labels[block] = rivals.argmax(axis=1)
            tied = np.flatnonzero(np.count_nonzero(rivals, axis=1) > 1)
            if len(tied):
                rows, clusters = np.nonzero(rivals[tied])
                near.append((tied[rows] + block.start, clusters))
        if near:
            rows, clusters = (np.concatenate(parts) for parts in zip(*near, strict=True))
            for row, (cluster, distance) in self._least(rows, clusters, local).items():
                labels[row] = cluster
                distances[row] = ratio_to_float(distance.numerator, distance.denominator, 0)
        return Assignment(labels, distances)

    def inertia(self, centres: RationalCentres, assignment: Assignment) -> float:
        # sum_i ||x_i - c||^2 over a set of n rows with sum T is sum_i ||x_i||^2 + n ||c||^2 - 2 <c, T>.
        local = self._localise(centres)
        sums = self._sums(assignment.labels)
        sizes = set_sizes(assignment.labels, self.n_clusters).tolist()
        ratios = [(self._sum_of_squares, 1)]
        for above, below, total, size in zip(local.numerators, local.denominators, sums, sizes, strict=True):
            if size:
                ratios.append((int(size * (above @ above) - 2 * below * (above @ total)), below**2))
        return ratio_to_float(*sum_of_ratios(ratios), 2 * self._exponent)

    def farthest(self, centres: RationalCentres, assignment: Assignment, count: int) -> list[int]:
        local = self._localise(centres)
        slack = _Scorer(local, _exists(local), self._squares).slack
        with np.errstate(invalid="ignore"):
            lower, upper = assignment.distances - slack, assignment.distances + slack
        lower[np.isnan(lower)] = -np.inf  # inf - inf: nothing is known
        # A row whose upper bound is below `count` lower bounds has `count` rows truly farther than itself.
        threshold = np.partition(lower, len(lower) - count)[len(lower) - count]
        rows = np.flatnonzero(~(upper < threshold))
        exact = self._exact(rows, assignment.labels[rows], local)
        order = sorted(zip(exact, rows.tolist(), strict=True), key=lambda pair: (-pair[0], pair[1]))
        return [] if order[0][0] == 0 else [row for _, row in order[:count]]

    def separated(self, centres: RationalCentres, assignment: Assignment) -> BoolArray:
        local = self._localise(centres)
        existing = np.flatnonzero(_exists(local))
        scorer = _Scorer(local, _exists(local), self._squares)
        result = np.ones(len(self._rows), dtype=np.bool_)
        for block in blocks(len(self._rows), self.n_clusters):
            labels = assignment.labels[block]
            others = (scorer.scores(self._rows[block]) + self._squares[block, None])[:, existing]
            # 9: squares of the distances' ratio 3; the two errors are at most 9 slack and slack.
            margin = others - 9 * assignment.distances[block, None]
            error = 10 * scorer.slack[block, None]
            is_other = existing != labels[:, None]
            result[block] &= ~(is_other & (margin < -error)).any(axis=1)
            unsure = is_other & ~(np.abs(margin) > error) & result[block, None]
            rows, columns = np.nonzero(unsure)
            if len(rows):
                other = self._exact(rows + block.start, existing[columns], local)
                own = self._exact(rows + block.start, labels[rows], local)
                below = [9 * mine > theirs for mine, theirs in zip(own, other, strict=True)]
                result[rows[below] + block.start] = False
        return result

    def distances_from(self, row: int) -> Integers:
        """Squared distances of all rows to one of them, shape (n_rows,)."""
        found = np.empty(len(self._rows), dtype=object)
        for block in blocks(*self._rows.shape):
            # Differences of whole numbers of at most 2^53 are below 2^54: exact in int64.
            steps = np.abs(self._rows[block].astype(np.int64) - self._rows[row].astype(np.int64))
            limbs = _limbs_of_rows(steps, self._bits + 1, SQUARE_LIMB)
            total = np.zeros(len(steps), dtype=object)
            for i, left in enumerate(limbs):
                for j, right in enumerate(limbs[: i + 1]):
                    # Products below 2^40, fewer than 2^22 of them.
                    sums = np.einsum("ij,ij->i", left, right).astype(object)
                    total += sums << (SQUARE_LIMB * (i + j) + (i != j))
            found[block] = total
        return found

    def _localise(self, centres: RationalCentres) -> RationalCentres:
        return centres.translated([-entry for entry in self._shift])

    def _sums(self, sets: IntArray) -> Integers:
        """Exact sums of the sets' shifted rows, shape (n_clusters, n_features); the last are kept."""
        if self._summed is None or not np.array_equal(self._summed[0], sets):
            self._summed = (sets.copy(), _exact_set_sums(self._rows, self._bits, sets, self.n_clusters))
        return self._summed[1]

    def _least(
        self, rows: IntArray, clusters: IntArray, local: RationalCentres
    ) -> dict[int, tuple[int, Fraction]]:
        """Nearest cluster and its distance of each row, among pairs sorted by row and then cluster."""
        best: dict[int, tuple[int, Fraction]] = {}
        distances = self._exact(rows, clusters, local)
        for row, cluster, distance in zip(rows.tolist(), clusters.tolist(), distances, strict=True):
            if row not in best or distance < best[row][1]:  # of equals the first, hence lowest, stays
                best[row] = (cluster, distance)
        return best

    def _exact(self, rows: IntArray, clusters: IntArray, local: RationalCentres) -> list[Fraction]:
        """Squared distances of (row, cluster) pairs, exactly."""
        return _exact_distances(self._rows, self._bits, rows, clusters, local)


class _Scorer:
    """Float64 distances less ||row||^2, and a bound on their error.

    With u = 2^-53, g the largest norm of a centre and r a row's norm, to first order:

    - a centre rounded to float64 is off by u g, so the square of its norm by (d + 2) u g^2;
    - its product with the row is off by (d + 1) u r g, in whatever order BLAS adds;
    - twice that, and the final subtraction, make at most (d + 4) u g (g + 2 r);
    - adding ||row||^2, itself off by d u r^2, makes at most (d + 5) u (g + r)^2.

    The slack of 2 (d + 8) u (g + r)^2 also covers the terms of second order (d u < 2^-23) and the rounding of
    g, r, the slack and the comparisons themselves.

    Parameters
    ----------
    local : RationalCentres
    eligible : ndarray of shape (n_clusters,), bool
        The clusters to score.
    squares : ndarray of shape (n_rows,), float64
        ||row||^2.

    Attributes
    ----------
    slack : ndarray of shape (n_rows,), float64
    """

    def __init__(self, local: RationalCentres, eligible: BoolArray, squares: FloatArray) -> None:
        n_features = local.numerators.shape[1]
        floats = np.where(eligible[:, None], local.to_floats(0), 0.0)
        with np.errstate(over="ignore", invalid="ignore"):  # given centres may lie beyond float64: slack inf
            squared = np.einsum("ij,ij->i", floats, floats)
            self._weights = np.ascontiguousarray(-2.0 * floats.T)
            self._offsets = np.where(eligible, squared, np.inf)
            reach = np.sqrt(squared.max()) + np.sqrt(squares)
            self.slack = 2 * (n_features + 8) * UNIT_ROUNDOFF * reach**2 + UNDERFLOW

    def scores(self, rows: FloatArray) -> FloatArray:
        """||c||^2 - 2 <row, c> of all clusters, inf where not eligible; shape (n_rows, n_clusters)."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores: FloatArray = rows @ self._weights
            scores += self._offsets
        return scores


def _exists(local: RationalCentres) -> BoolArray:
    return np.array([below > 0 for below in local.denominators], dtype=np.bool_)


def _first_of_equals(local: RationalCentres) -> BoolArray:
    """Which clusters have a centre that no lower cluster has; the others never win a row."""
    seen: dict[bytes, list[int]] = {}
    first = np.zeros(len(local.denominators), dtype=np.bool_)
    floats = local.to_floats(0)
    for cluster, below in enumerate(local.denominators):
        if below:
            # Equal rationals have equal floats, so only clusters of equal floats are compared exactly.
            alike = seen.setdefault(floats[cluster].tobytes(), [])
            above = local.numerators[cluster]
            first[cluster] = not any(
                np.array_equal(above * local.denominators[other], local.numerators[other] * below)
                for other in alike
            )
            alike.append(cluster)
    return first


def _limbs_of_rows(rows: FloatArray, bits: int, width: int) -> list[IntArray]:
    """Whole numbers |x| < 2^bits as limbs of `width` bits: x = sum_j limb_j 2^(j width).

    All limbs are in [0, 2^width) but the last, which carries the sign and is in [-2^width, 2^width).
    """
    whole = rows.astype(np.int64)
    count = max(1, -(-bits // width))
    low = [(whole >> (j * width)) & ((1 << width) - 1) for j in range(count - 1)]
    return [*low, whole >> ((count - 1) * width)]


def _limbs_of_integers(values: Integers, width: int) -> list[IntArray]:
    """The same for an array of Python integers of any size."""
    bits = max(abs(value).bit_length() for value in values.ravel().tolist())
    count = max(1, -(-bits // width))
    low = [(values >> (j * width)) & ((1 << width) - 1) for j in range(count - 1)]
    return [limb.astype(np.int64) for limb in (*low, values >> ((count - 1) * width))]


def _sum_of_squares(rows: FloatArray, bits: int) -> int:
    """Exact sum of the squares of all entries."""
    total = 0
    flat = rows.reshape(-1)
    for block in blocks(len(flat), 1):
        limbs = _limbs_of_rows(flat[block], bits, SQUARE_LIMB)
        for i, left in enumerate(limbs):
            for j, right in enumerate(limbs[: i + 1]):
                total += int(left @ right) << (SQUARE_LIMB * (i + j) + (i != j))
    return total


def _exact_set_sums(rows: FloatArray, bits: int, sets: IntArray, n_clusters: int) -> Integers:
    """Sums of the sets' rows as Python integers.

    Sums of n whole numbers below 2^width are exact in float64 if n 2^width <= 2^53. Rows of more bits are cut
    in two; the upper parts, at most 2^(53 - width) in magnitude, need n 2^(53 - width) <= 2^53 as well.
    """
    width = 53 - len(rows).bit_length()
    assert len(rows) << (53 - width) <= 1 << 53
    if bits <= width:
        return _as_integers(set_sums(rows, sets, n_clusters))
    upper_sum = np.zeros((n_clusters, rows.shape[1]))
    lower_sum = np.zeros((n_clusters, rows.shape[1]))
    for block in blocks(len(rows), rows.shape[1]):
        upper = np.floor(np.ldexp(rows[block], -width))
        lower = rows[block] - np.ldexp(upper, width)
        upper_sum += set_sums(upper, sets[block], n_clusters)
        lower_sum += set_sums(lower, sets[block], n_clusters)
    return np.asarray(_as_integers(upper_sum) * (1 << width) + _as_integers(lower_sum))


def _as_integers(whole: FloatArray) -> Integers:
    return whole.astype(np.int64).astype(object)


def _exact_distances(
    rows: FloatArray, bits: int, chosen: IntArray, clusters: IntArray, local: RationalCentres
) -> list[Fraction]:
    """||numerator - denominator x||^2 / denominator^2 for pairs (chosen[i], clusters[i])."""
    # d products of two limbs, each at most 2^(2 width) in magnitude, add up to at most 2^62.
    n_features = rows.shape[1]
    width = (62 - n_features.bit_length()) // 2
    assert n_features << (2 * width) <= 1 << 62
    numerators = _limbs_of_integers(local.numerators, width)
    norms = [int(above @ above) for above in local.numerators]
    distances: list[Fraction] = []
    for block in blocks(len(chosen), n_features):
        row_limbs = _limbs_of_rows(rows[chosen[block]], bits, width)
        centre_limbs = [limb[clusters[block]] for limb in numerators]
        products = _dot(row_limbs, centre_limbs, width)
        squares = _dot(row_limbs, row_limbs, width)
        for cluster, product, square in zip(clusters[block].tolist(), products, squares, strict=True):
            below = local.denominators[cluster]
            above = norms[cluster] - 2 * below * product + below**2 * square
            distances.append(Fraction(above, below**2))
    return distances


def _dot(left: list[IntArray], right: list[IntArray], width: int) -> list[int]:
    """Row-wise scalar products of two arrays given by their limbs."""
    total = np.zeros(len(left[0]), dtype=object)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            total += np.einsum("ij,ij->i", a, b).astype(object) * (1 << (width * (i + j)))
    return [int(value) for value in total]
