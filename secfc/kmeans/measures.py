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
    """Sums over rows of an iteration's distances to the means of `sets`, collected block by block."""

    def __init__(self, sets: Labels, sizes: Ints) -> None:
        self._sets, self._sizes = sets, sizes
        self._parts: dict[
            int, tuple[Floats, Floats, Floats]
        ] = {}  # by first row: rows that are added again replace their sums

    def add(self, rows: slice, labels: Labels, value: Floats) -> None:
        """Add squared distances of some rows whose nearest centres are `labels`.

        `value`, shape (asked sets, rows), is inf for empty sets and is not changed.
        """
        k, every = self._sizes.size, np.arange(labels.size)
        own = np.sqrt(value[labels, every])
        others = value.copy()
        others[labels, every] = np.inf
        second = np.sqrt(others.min(axis=0))
        with np.errstate(invalid="ignore"):
            width = np.where(second > 0, 1 - own / second, 0.0)  # own <= second
        finite = np.where(np.isfinite(value), value, 0.0)
        member = (self._sets[rows] == np.arange(k)[:, np.newaxis]).astype(np.float64)
        between = np.zeros((k, k))
        between[:, : len(value)] = member @ finite.T
        self._parts[rows.start] = (
            np.bincount(labels, weights=width, minlength=k).astype(np.float64),
            np.bincount(labels, weights=own, minlength=k).astype(np.float64),
            between,
        )

    def measures(self, labels: Labels, *, inertia: float, total: float) -> "Measures":
        """The measures of a clustering; `total` is the sum of squared distances to the mean of all rows."""
        width, own, between = (
            np.sum(parts, axis=0)
            for parts in zip(*(part for _, part in sorted(self._parts.items())), strict=True)
        )
        rows = np.bincount(labels, minlength=self._sizes.size)
        present = np.flatnonzero(rows)
        k, m = present.size, labels.size
        if not 2 <= k < m:
            return Measures(calinski_harabasz=nan, silhouette=nan, davies_bouldin=nan)
        silhouette = float(width[rows > 1].sum() / m)  # 0 for a row alone, as in the silhouette
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

    Attributes
    ----------
    calinski_harabasz : float
        Greater is better.
    silhouette : float or None
        Simplified silhouette, 0 to 1: the mean of (b - a) / b, with a and b the distances to the nearest and
        the second nearest centre (Vendramin, Campello, Hruschka 2010). Greater is better. None if not known.
    davies_bouldin : float or None
        Less is better. None as for the silhouette. Exact if the distances are to the means of the labels,
        which holds after convergence.
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
