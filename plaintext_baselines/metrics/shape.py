"""Measures of a clustering by the rows and the centres alone."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.metrics import silhouette_score

from plaintext_baselines._arrays import FloatArray, IntArray
from plaintext_baselines._base import check_parties
from plaintext_baselines._floats import nearest, squared_distances


def k_means_score(parties: Sequence[ArrayLike], centers: ArrayLike) -> float:
    """Mean squared distance of all rows to their nearest centre: the k-means objective divided by m.

    DWF's "score" (section 3.3).

    Examples
    --------
    >>> k_means_score([[[0.0]], [[2.0], [5.0]]], [[1.0], [5.0]])
    0.6666666666666666
    """
    rows, points, labels = _pooled(parties, centers)
    return float(squared_distances(rows, points, labels).mean())


def client_mean_score(parties: Sequence[ArrayLike], centers: ArrayLike) -> float:
    """Unweighted mean of the parties' own k-means scores. Parties without rows are skipped.

    DWF's "RequestScore" (Algorithm 4) with all parties.

    Examples
    --------
    >>> client_mean_score([[[0.0]], [[2.0], [5.0]]], [[1.0], [5.0]])
    0.75
    """
    scores = [k_means_score([rows], centers) for rows in check_parties(parties) if len(rows)]
    return float(np.mean(scores))


def within_sse(parties: Sequence[ArrayLike], centers: ArrayLike, *, squared: bool = True) -> float:
    """FFCM's WSSE: the sum of squared distances of the rows to their own (nearest) centre, divided by m d.

    Less is better. ``squared=False`` sums the distances themselves. The paper's formula has squares; its
    published code and its Tables 2 to 4 do not.

    Examples
    --------
    >>> within_sse([[[0.0, 0.0], [0.0, 2.0]]], [[0.0, 0.0], [9.0, 9.0]])
    1.0
    """
    rows, points, labels = _pooled(parties, centers)
    squares = squared_distances(rows, points, labels)
    return float((squares if squared else np.sqrt(squares)).sum() / rows.size)


def outside_sse(parties: Sequence[ArrayLike], centers: ArrayLike, *, squared: bool = True) -> float:
    """FFCM's OSSE: the sum of squared distances of the rows to all other centres, divided by m d.

    More is better. `squared` as for :func:`within_sse`.

    Examples
    --------
    >>> outside_sse([[[0.0, 0.0], [0.0, 2.0]]], [[0.0, 0.0], [3.0, 0.0]])
    5.5
    """
    rows, points, labels = _pooled(parties, centers)
    distances = cdist(rows, points, "sqeuclidean" if squared else "euclidean")
    distances[np.arange(len(rows)), labels] = 0
    return float(np.nansum(distances) / rows.size)


def silhouette(parties: Sequence[ArrayLike], labels: Sequence[ArrayLike]) -> float:
    """Mean silhouette of all rows together. It needs every distance between rows, also of different parties.

    P. J. Rousseeuw, *Silhouettes*, 1987; FKM's figure 5(a). ValueError unless there are 2 to m - 1 clusters.

    Examples
    --------
    >>> round(silhouette([[[0.0], [1.0]], [[9.0], [10.0]]], [[0, 0], [1, 1]]), 4)
    0.8885
    """
    pooled = np.concatenate([np.asarray(party) for party in labels])
    return float(silhouette_score(np.concatenate(check_parties(parties)), pooled))


def simplified_silhouette(parties: Sequence[ArrayLike], centers: ArrayLike) -> float:
    """Mean of (b - a) / max(a, b): a is the distance to the nearest centre, b to the second nearest.

    Every party can compute its part of the sum. A row that lies on two centres counts 0. There must be at
    least two centres. E. R. Hruschka et al., *Evolutionary algorithms for clustering gene-expression data*,
    2004; FKM's figure 5(b).

    Examples
    --------
    >>> simplified_silhouette([[[0.0], [1.0]], [[9.0]]], [[0.0], [4.0]])
    0.7037037037037036
    """
    rows, points, _ = _pooled(parties, centers)
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) < 2:
        raise ValueError(f"centers must have at least two rows, got {len(points)}")
    two = np.partition(cdist(rows, points), 1, axis=1)[:, :2]
    shares = np.divide(two[:, 1] - two[:, 0], two[:, 1], out=np.zeros(len(two)), where=two[:, 1] > 0)
    return float(shares.mean())


def _pooled(parties: Sequence[ArrayLike], centers: ArrayLike) -> tuple[FloatArray, FloatArray, IntArray]:
    rows = np.concatenate(check_parties(parties))
    points = np.asarray(centers, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != rows.shape[1]:
        raise ValueError(f"centers have shape {points.shape}, the parties have {rows.shape[1]} columns")
    return rows, points, nearest(rows, points)
