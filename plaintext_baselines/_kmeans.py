"""scikit-learn's k-means, for steps that a method calls just "k-means".

It also accepts fewer points than clusters and duplicate points, which scikit-learn refuses or warns about.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from plaintext_baselines._arrays import FloatArray, IntArray


class Clustering(NamedTuple):
    """Centres, ndarray of shape (n_clusters, n_features), and labels, ndarray of shape (n_points,), int64."""

    centres: FloatArray
    labels: IntArray


def kmeans(
    points: FloatArray,
    n_clusters: int,
    *,
    seed: Any,
    weights: FloatArray | None = None,
    init: FloatArray | str = "k-means++",
    n_init: int = 1,
    max_iter: int = 300,
    tol: float = 0.0,
) -> Clustering:
    """Lloyd's algorithm from k-means++ or from given centres, as scikit-learn runs it.

    With at most `n_clusters` points, the centres are the points, repeated in turn up to `n_clusters`. A
    repeated centre never labels a row, since ties go to the lowest cluster.
    """
    if len(points) <= n_clusters:
        return Clustering(np.resize(points, (n_clusters, points.shape[1])), np.arange(len(points)))
    model = KMeans(
        n_clusters,
        init=init,
        n_init=n_init if isinstance(init, str) else 1,
        max_iter=max_iter,
        tol=tol,
        random_state=seed,
        algorithm="lloyd",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
        model.fit(points, sample_weight=weights)
    return Clustering(model.cluster_centers_, model.labels_.astype(np.int64))


def draw_seed(rng: np.random.Generator) -> int:
    """An integer seed for scikit-learn, which does not accept a ``numpy.random.Generator``."""
    return int(rng.integers(2**32))


def in_order(points: FloatArray, *columns: FloatArray) -> tuple[FloatArray, ...]:
    """Points, and the columns that belong to them, sorted by coordinates: so a server's step has no order."""
    order = np.lexsort((*columns, *points.T[::-1]))
    return (points[order], *(column[order] for column in columns))
