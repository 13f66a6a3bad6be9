"""The measures of the papers, each named after its definition.

Parties are sequences of array-likes of shape (n_rows_of_the_party, n_features), or (n_rows_of_the_party,) for
labels. Centres have shape (n_clusters, n_features). A centre of nan counts as missing.

References
----------
- SecFC: S. Li et al., *Secure federated clustering*.
- FKM: S. Garst and M. Reinders, *Federated k-means clustering*.
- DWF: P. Holzer et al., *Dynamically weighted federated k-means*.
- FFCM: M. Stallmann and A. Wilbik, *Towards federated clustering*.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from plaintext_baselines._arrays import FloatArray, IntArray
from plaintext_baselines._base import check_parties
from plaintext_baselines._floats import nearest, squared_distances


def hungarian_accuracy(truth: ArrayLike, labels: ArrayLike) -> float:
    """Fraction of rows that agree under the best one-to-one map of clusters to classes.

    Harold W. Kuhn: *The Hungarian method for the assignment problem*, 1955; SecFC's "accuracy" (section 5).
    """
    counts = contingency_matrix(truth, labels)
    classes, clusters = linear_sum_assignment(counts, maximize=True)
    return float(counts[classes, clusters].sum() / np.asarray(truth).shape[0])


def majority_accuracy(truth: ArrayLike, labels: ArrayLike) -> float:
    """Fraction of rows that agree if every cluster is mapped to its most frequent class.

    The value grows with the number of clusters. Also known as purity; DWF's "accuracy" (section 3.3).
    """
    counts = contingency_matrix(truth, labels)
    return float(counts.max(axis=0).sum() / np.asarray(truth).shape[0])


def pooled_ari(truths: Sequence[ArrayLike], labels: Sequence[ArrayLike]) -> float:
    """Adjusted Rand index over all parties' rows together: at most 1, about 0 for random labels.

    L. Hubert and P. Arabie, *Comparing partitions*, 1985; FKM, section 3, for the central method.
    """
    _check_pairs(truths, labels)
    pooled = (np.concatenate([np.asarray(party) for party in parties]) for parties in (truths, labels))
    return float(adjusted_rand_score(*pooled))


def client_weighted_ari(truths: Sequence[ArrayLike], labels: Sequence[ArrayLike]) -> float:
    """Mean of the parties' own adjusted Rand indices, each weighted by its number of rows.

    There is no penalty if two parties give different labels to rows of the same class. FKM's published code
    reports this value.
    """
    _check_pairs(truths, labels)
    sizes = np.array([len(np.asarray(truth)) for truth in truths])
    scores = [
        float(adjusted_rand_score(truth, label)) if size else 0.0
        for truth, label, size in zip(truths, labels, sizes, strict=True)
    ]
    return float(np.average(scores, weights=sizes))


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


def within_sse(parties: Sequence[ArrayLike], centers: ArrayLike, *, squared: bool = True) -> float:
    """FFCM's WSSE: the sum of squared distances of the rows to their own (nearest) centre, divided by m d.

    Less is better. ``squared=False`` sums the distances themselves. The paper's formula has squares; its
    published code and its Tables 2 to 4 do not.
    """
    rows, points, labels = _pooled(parties, centers)
    squares = squared_distances(rows, points, labels)
    return float((squares if squared else np.sqrt(squares)).sum() / rows.size)


def outside_sse(parties: Sequence[ArrayLike], centers: ArrayLike, *, squared: bool = True) -> float:
    """FFCM's OSSE: the sum of squared distances of the rows to all other centres, divided by m d.

    More is better. `squared` as for :func:`within_sse`.
    """
    rows, points, labels = _pooled(parties, centers)
    distances = cdist(rows, points, "sqeuclidean" if squared else "euclidean")
    distances[np.arange(len(rows)), labels] = 0
    return float(np.nansum(distances) / rows.size)


def simplified_silhouette(parties: Sequence[ArrayLike], centers: ArrayLike) -> float:
    """Mean of (b - a) / max(a, b): a is the distance to the nearest centre, b to the second nearest.

    Every party can compute its part of the sum. A row that lies on two centres counts 0. E. R. Hruschka et
    al., *Evolutionary algorithms for clustering gene-expression data*, 2004; FKM's figure 5(b).
    """
    rows, points, _ = _pooled(parties, centers)
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) < 2:
        raise ValueError(f"centers must have at least two rows, got {len(points)}")
    two = np.partition(cdist(rows, points), 1, axis=1)[:, :2]
    shares = np.divide(two[:, 1] - two[:, 0], two[:, 1], out=np.zeros(len(two)), where=two[:, 1] > 0)
    return float(shares.mean())


def matched_knowledge_gap(truth: ArrayLike, centers: ArrayLike) -> float:
    """Sum over k of ||c~_k - c_k||, with the one-to-one match of centres for which the sum is least.

    FFCM's "gap"; the paper does not define the matching.
    """
    distances = _distances(truth, centers)
    if distances.shape[0] != distances.shape[1]:
        raise ValueError(f"{distances.shape[0]} true centres cannot be matched to {distances.shape[1]}")
    return float(distances[linear_sum_assignment(distances)].sum())


def nearest_knowledge_gap(truth: ArrayLike, centers: ArrayLike, *, scaled: bool = False) -> float:
    """Sum over the true centres of the distance to the nearest found one, which may serve several.

    FFCM's "gap" as its code matches centres; Tables 3 and 4 have it with the arguments exchanged. With
    `scaled` each column is divided by its standard deviation (ddof = 1) over true and found centres
    together, SciPy's "seuclidean", as in the first version of that code and in Table 4.
    """
    distances = _distances(truth, centers)  # checks both
    if scaled:
        stacked = np.concatenate([truth, centers])
        deviations = stacked.std(axis=0, ddof=1)
        units = np.where(deviations > 0, deviations, 1.0)  # where all are equal no distance is
        distances = _distances(np.asarray(truth) / units, np.asarray(centers) / units)
    return float(distances.min(axis=1).sum())


def _check_pairs(truths: Sequence[ArrayLike], labels: Sequence[ArrayLike]) -> None:
    if len(truths) != len(labels):
        raise ValueError(f"truths of {len(truths)} parties but labels of {len(labels)}")


def _pooled(parties: Sequence[ArrayLike], centers: ArrayLike) -> tuple[FloatArray, FloatArray, IntArray]:
    rows = np.concatenate(check_parties(parties))
    points = np.asarray(centers, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != rows.shape[1]:
        raise ValueError(f"centers have shape {points.shape}, the parties have {rows.shape[1]} columns")
    return rows, points, nearest(rows, points)


def _distances(truth: ArrayLike, centers: ArrayLike) -> FloatArray:
    true, found = np.asarray(truth, dtype=np.float64), np.asarray(centers, dtype=np.float64)
    if true.ndim != 2 or found.ndim != 2 or true.shape[1] != found.shape[1]:
        raise ValueError(f"truth has shape {true.shape}, centers {found.shape}: both need rows of one width")
    if not np.isfinite(found).all():
        raise ValueError("centers have nan or infinity: a gap needs every centre")
    return np.asarray(cdist(true, found))
