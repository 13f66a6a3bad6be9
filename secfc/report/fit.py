"""How well rows fit their clusters, by distances to the centres, for whoever knows these."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secfc.drivers.outcome import Outcome
from secfc.field.array_types import Floats, Labels
from secfc.kmeans.measures import spreads
from secfc.kmeans.sets import set_sizes


@dataclass(frozen=True)
class Fit:
    """Rows of a cluster, the root mean square of their distances to its centre, and their mean silhouette.

    None where there is no row, or no second centre. Lengths are in the units of the clustered rows.
    """

    rows: int
    spread: float | None
    silhouette: float | None


def fit_of_all(result: Outcome) -> list[Fit]:
    """Of all rows, by what the server knows of their distances: a line for each cluster, then all."""
    return _lines(result.sizes.tolist(), result.cluster_spreads, result.cluster_silhouettes)


def fit_of(rows: Floats, labels: Labels, centres: Floats) -> list[Fit]:
    """Of some rows, for who has them and the centres: a line for each cluster, then all. -1 is no label.

    The simplified silhouette is the mean of (b - a) / max(a, b), of a row's distance a to its own centre and
    b to the nearest other one (Vendramin, Campello and Hruschka, 2010). It is negative where a row's own
    centre is not the nearest: there can be such rows when a run had not converged.
    """
    k, rows, labels = len(centres), rows[labels >= 0], labels[labels >= 0]
    distances = np.array([np.sqrt(((rows - centre) ** 2).sum(axis=1)) for centre in centres])
    distances[np.isnan(distances)] = np.inf
    picked = (labels, np.arange(len(labels)))
    own = distances[picked].copy()
    distances[picked] = np.inf
    other = distances.min(axis=0, initial=np.inf)
    larger = np.maximum(own, other)
    each = np.divide(other - own, larger, out=np.zeros(len(own)), where=(larger > 0) & np.isfinite(other))
    sizes = set_sizes(labels, k)
    silhouettes = np.full(k, np.nan)
    if np.isfinite(centres).all(axis=1).sum() > 1:
        sums = np.bincount(labels, weights=each, minlength=k)
        np.divide(sums, sizes, out=silhouettes, where=sizes > 0)
    return _lines(sizes.tolist(), spreads(own, labels, k), silhouettes)


def _lines(sizes: Sequence[int], spread: Floats, silhouette: Floats) -> list[Fit]:
    rows = np.array(sizes)
    here, m = rows > 0, rows.sum()
    lines = [(int(size), spread[h], silhouette[h]) for h, size in enumerate(rows)]
    if m:
        whole = np.sqrt(rows[here] @ spread[here] ** 2 / m)
        lines.append((int(m), whole, rows[here] @ silhouette[here] / m))
    return [Fit(size, *(None if np.isnan(one) else float(one) for one in values)) for size, *values in lines]
