"""Measures of how well a clustering fits, from the distances of an iteration alone, without centres.

All measures are quotients of distances, so the units of the quantised rows cancel. Values are float64 and
come from distances that are exact up to one rounding.
"""

from dataclasses import dataclass
from math import nan

import numpy as np

from secfc.array_types import Floats, Ints, Labels

BINS = 24
"""Bins of the histogram of distances: enough for a chart of about 500 pixels."""


class RoundSums:
    """Sums over rows of an iteration's distances to the means of `sets`, taken block by block.

    Only those of a start's last iteration are used. But every iteration needs them: its labels tell only
    afterwards whether it is the last one, and its distances are gone by then. To keep the two least distances
    of each row would take 16 bytes per row and save little: most of the work is to find the second nearest.
    Without `between` there are no distances between centres, and `measures` cannot be asked for.
    """

    def __init__(self, sets: Labels, sizes: Ints, *, between: bool) -> None:
        self._sets, self._sizes, self._between = sets, sizes, between
        # By first row: rows that are added again replace their sums.
        self._parts: dict[int, tuple[Floats, Floats, Floats]] = {}

    def add(self, rows: slice, labels: Labels, value: Floats) -> None:
        """Add squared distances of some rows whose nearest centres are `labels`.

        `value`, shape (sets asked about, rows), is inf to empty sets and is left as it was.
        """
        k, picked = self._sizes.size, (labels.astype(np.intp), np.arange(labels.size))
        nearest = value[picked]
        value[picked] = np.inf  # not a copy: it is as large as all distances
        second = value.min(axis=0)
        value[picked] = nearest
        quotient = np.divide(nearest, second, out=np.ones(labels.size), where=second > 0)
        width = 1 - np.sqrt(quotient)  # nearest <= second
        own, between = np.zeros(0), np.zeros((k, k))
        if self._between:
            own = np.bincount(labels, weights=np.sqrt(nearest), minlength=k).astype(np.float64)
            finite = np.where(np.isfinite(value), value, 0.0)
            member = (self._sets[rows] == np.arange(k)[:, np.newaxis]).astype(np.float64)
            between[:, : len(value)] = member @ finite.T
        self._parts[rows.start] = (
            np.bincount(labels, weights=width, minlength=k).astype(np.float64),
            own,
            between,
        )

    def _total(self, kind: int) -> Floats:
        total: Floats = np.sum([part[kind] for _, part in sorted(self._parts.items())], axis=0)
        return total

    def silhouettes(self, labels: Labels) -> Floats:
        """The simplified silhouette of each cluster, shape (k,): the mean of (b - a) / b over its rows.

        0 for a row alone, as in the silhouette; nan for a cluster without rows, and with fewer than two that
        have some.
        """
        rows = np.bincount(labels, minlength=self._sizes.size)
        if np.count_nonzero(rows) < 2:
            return np.full(rows.size, nan)
        width = np.where(rows > 1, self._total(0), 0.0)
        means: Floats = np.divide(width, rows, out=np.full(rows.size, nan), where=rows > 0)
        return means

    def measures(self, labels: Labels, *, inertia: float, total: float) -> "Measures":
        """The measures of a clustering; `total` is the sum of squared distances to the mean of all rows."""
        own, between = self._total(1), self._total(2)
        rows = np.bincount(labels, minlength=self._sizes.size)
        present = np.flatnonzero(rows)
        k, m = present.size, labels.size
        if not 2 <= k < m:
            return Measures(calinski_harabasz=nan, silhouette=nan, davies_bouldin=nan)
        silhouette = float((rows * self.silhouettes(labels))[present].sum() / m)
        spread = own[present] / rows[present]
        return Measures(
            silhouette=silhouette,
            calinski_harabasz=calinski_harabasz(inertia, total=total, k=k, m=m),
            davies_bouldin=_davies_bouldin(spread, self._centre_distances(between, present)),
        )

    def _centre_distances(self, between: Floats, present: Ints) -> Floats:
        """Distances between centres.

        The rows x of S_i have the mean c_i, so over them
        mean ||x - c_h||^2 = mean ||x - c_i||^2 + ||c_i - c_h||^2.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = between / self._sizes[:, np.newaxis]
        squared = (mean - np.diag(mean)[:, np.newaxis])[np.ix_(present, present)]
        squared = np.nan_to_num((squared + squared.T) / 2)
        return np.sqrt(np.maximum(squared, 0.0))


def _davies_bouldin(spread: Floats, distance: Floats) -> float:
    """Mean over i of the largest (spread_i + spread_j) / distance_ij. Pairs of equal centres are skipped."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(distance > 0, (spread[:, np.newaxis] + spread) / distance, 0.0)
    np.fill_diagonal(ratio, 0.0)
    return float(ratio.max(axis=1).mean())


def calinski_harabasz(inertia: float, *, total: float, k: int, m: int) -> float:
    """The ratio of the variance between k nonempty clusters to that within them; nan as in `Measures`.

    `total` is the sum of squared distances to the mean of all m rows.
    """
    if not 2 <= k < m:
        return nan
    within = inertia / (m - k)
    return float((total - inertia) / (k - 1) / within) if within > 0 else 1.0  # as scikit-learn


@dataclass(frozen=True, kw_only=True)
class Measures:
    """Measures of a clustering. They are nan with fewer than two clusters, or with as many as rows.

    The simplified silhouette, 0 to 1, is the mean of (b - a) / b, with a and b the distances to the nearest
    and the second nearest centre (Vendramin, Campello, Hruschka 2010). Greater is better, but for
    Davies-Bouldin, which is exact if the distances are to the means of the labels, as after convergence.
    What is not known is None.
    """

    calinski_harabasz: float
    silhouette: float | None = None
    davies_bouldin: float | None = None

    @property
    def chosen_by(self) -> float:
        """The measure that compares clusterings of several k; greater is better."""
        return self.calinski_harabasz if self.silhouette is None else self.silhouette


def histogram(distances: Floats) -> tuple[list[int], float]:
    """Counts of distances in `BINS` equal bins from 0, and the upper end of the last bin."""
    largest = float(distances.max(initial=0.0))
    counts, _ = np.histogram(distances, bins=BINS, range=(0.0, largest or 1.0))
    return counts.tolist(), largest


def spreads(distances: Floats, labels: Labels, k: int) -> Floats:
    """The root mean square of the distances of each cluster's rows, shape (k,); nan without rows."""
    rows = np.bincount(labels, minlength=k)
    sums = np.bincount(labels, weights=distances**2, minlength=k)
    squared: Floats = np.divide(sums, rows, out=np.full(k, nan), where=rows > 0)
    return np.sqrt(squared)


def knee(ks: list[int], inertia: list[float]) -> int | None:
    """The k at which a falling curve is farthest below the chord from its first to its last point.

    Satopää, Albrecht, Irwin, Raghavan: *Finding a "kneedle" in a haystack*, ICDCSW 2011. None for fewer than
    three points, and for a curve that does not fall or is never below the chord.
    """
    x, y = np.array(ks, dtype=float), np.array(inertia)
    if x.size < 3 or not y[0] > y[-1]:
        return None
    below = 1 - (x - x[0]) / (x[-1] - x[0]) - (y - y[-1]) / (y[0] - y[-1])
    return ks[int(below.argmax())] if below.max() > 1e-12 else None
