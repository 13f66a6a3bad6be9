"""Measures of how well a clustering fits, from the distances of an iteration alone, without centres.

All measures are quotients of distances, so the units of the quantised rows cancel. Values are float64 and
come from distances that are exact up to one rounding.
"""

from dataclasses import dataclass
from math import nan

import numpy as np

from secfc.field.array_types import Floats, Ints, Labels


class CentreDistances:
    """Distances between the means of `sets`, from an iteration's distances, taken block by block.

    Only those of a start's last iteration are used. But every iteration needs the sums: its labels tell only
    afterwards whether it is the last one, and its distances are gone by then.
    """

    def __init__(self, sets: Labels, sizes: Ints) -> None:
        self._sets, self._sizes = sets, sizes
        self._sums: dict[int, Floats] = {}  # by first row, because threads add blocks in any order

    def add(self, rows: slice, value: Floats) -> None:
        """Add squared distances of some rows, shape (sets asked about, rows), inf to empty sets."""
        k = self._sizes.size
        finite = np.where(np.isfinite(value), value, 0.0)
        member = (self._sets[rows] == np.arange(k)[:, np.newaxis]).astype(np.float64)
        self._sums[rows.start] = sums = np.zeros((k, k))
        sums[:, : len(value)] = member @ finite.T

    def between(self, present: Ints) -> Floats:
        """Distances between the means of some sets, which have rows.

        The rows x of S_i have the mean c_i, so over them
        mean ||x - c_h||^2 = mean ||x - c_i||^2 + ||c_i - c_h||^2.
        """
        total = np.sum([sums for _, sums in sorted(self._sums.items())], axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / self._sizes[:, np.newaxis]
        squared = (mean - np.diag(mean)[:, np.newaxis])[np.ix_(present, present)]
        distances: Floats = np.sqrt(np.maximum(np.nan_to_num((squared + squared.T) / 2), 0.0))
        return distances


def silhouettes(labels: Labels, nearest: Floats, second: Floats, k: int) -> Floats:
    """The simplified silhouette of each cluster, shape (k,): the mean of (b - a) / b over its rows.

    `nearest` and `second`, shape (m,), are squared distances of rows to their centres and to the nearest
    others. 0 for a row alone, as in the silhouette; nan for a cluster without rows, and with fewer than two
    that have some.
    """
    rows = np.bincount(labels, minlength=k)
    if np.count_nonzero(rows) < 2:
        return np.full(k, nan)
    quotient = np.divide(nearest, second, out=np.ones(labels.size), where=second > 0)
    width = np.bincount(labels, weights=1 - np.sqrt(quotient), minlength=k)  # nearest <= second
    means: Floats = np.divide(np.where(rows > 1, width, 0.0), rows, out=np.full(k, nan), where=rows > 0)
    return means


def measures(
    labels: Labels,
    nearest: Floats,
    silhouettes: Floats,
    centres: CentreDistances,
    *,
    inertia: float,
    total: float,
) -> "Measures":
    """The measures of a clustering, whose rows have these squared distances to the nearest centres.

    `total` is the sum of squared distances to the mean of all rows.
    """
    rows = np.bincount(labels, minlength=silhouettes.size)
    present = np.flatnonzero(rows)
    k, m = present.size, labels.size
    if not 2 <= k < m:
        return Measures(calinski_harabasz=nan, silhouette=nan, davies_bouldin=nan)
    spread = np.bincount(labels, weights=np.sqrt(nearest), minlength=rows.size)[present] / rows[present]
    return Measures(
        silhouette=float((rows * silhouettes)[present].sum() / m),
        calinski_harabasz=calinski_harabasz(inertia, total=total, k=k, m=m),
        davies_bouldin=_davies_bouldin(spread, centres.between(present)),
    )


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


def spreads(distances: Floats, labels: Labels, k: int) -> Floats:
    """The root mean square of the distances of each cluster's rows, shape (k,); nan without rows."""
    rows = np.bincount(labels, minlength=k)
    sums = np.bincount(labels, weights=distances**2, minlength=k)
    squared: Floats = np.divide(sums, rows, out=np.full(k, nan), where=rows > 0)
    return np.sqrt(squared)
