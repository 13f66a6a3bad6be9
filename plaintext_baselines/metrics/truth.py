"""Agreement of labels with a known truth. Both have shape (m,), m >= 1, for all rows or for each party."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, v_measure_score
from sklearn.metrics.cluster import contingency_matrix


def hungarian_accuracy(truth: ArrayLike, labels: ArrayLike) -> float:
    """Fraction of rows that agree under the best one-to-one map of clusters to classes.

    Harold W. Kuhn: *The Hungarian method for the assignment problem*, 1955; SecFC's "accuracy" (section 5).

    Examples
    --------
    >>> hungarian_accuracy([0, 0, 1, 1], [1, 1, 0, 1])
    0.75
    """
    counts = contingency_matrix(truth, labels)
    classes, clusters = linear_sum_assignment(counts, maximize=True)
    return float(counts[classes, clusters].sum() / np.asarray(truth).shape[0])


def majority_accuracy(truth: ArrayLike, labels: ArrayLike) -> float:
    """Fraction of rows that agree if every cluster is mapped to its most frequent class.

    Several clusters may have the same class. So the value grows with the number of clusters, and it is 1 if
    every row is its own cluster. It is at least the Hungarian accuracy. Also known as purity; DWF's
    "accuracy" (section 3.3).

    Examples
    --------
    >>> majority_accuracy([0, 0, 0, 1], [0, 1, 2, 2])
    0.75
    """
    counts = contingency_matrix(truth, labels)
    return float(counts.max(axis=0).sum() / np.asarray(truth).shape[0])


def v_measure(truth: ArrayLike, labels: ArrayLike) -> float:
    """Harmonic mean, in [0, 1], of homogeneity and completeness.

    A. Rosenberg and J. Hirschberg, *V-measure*, 2007; DWF, section 3.3.

    Examples
    --------
    >>> v_measure([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return float(v_measure_score(truth, labels))


def pooled_ari(truths: Sequence[ArrayLike], labels: Sequence[ArrayLike]) -> float:
    """Adjusted Rand index over all parties' rows together: at most 1, about 0 for random labels.

    L. Hubert and P. Arabie, *Comparing partitions*, 1985; FKM, section 3, for the central method.

    Examples
    --------
    >>> pooled_ari([[0, 0], [1, 1]], [[0, 0], [0, 1]])
    0.0
    """
    _check_pairs(truths, labels)
    pooled = (np.concatenate([np.asarray(party) for party in parties]) for parties in (truths, labels))
    return float(adjusted_rand_score(*pooled))


def client_weighted_ari(truths: Sequence[ArrayLike], labels: Sequence[ArrayLike]) -> float:
    """Mean of the parties' own adjusted Rand indices, each weighted by its number of rows.

    There is no penalty if two parties give different labels to rows of the same class. A party of one row
    counts as 1, and a party without rows has weight 0. FKM's published code reports this value.

    Examples
    --------
    >>> client_weighted_ari([[0, 0, 1], [1]], [[0, 0, 1], [0]])
    1.0
    """
    _check_pairs(truths, labels)
    sizes = np.array([len(np.asarray(truth)) for truth in truths])
    scores = [
        float(adjusted_rand_score(truth, label)) if size else 0.0
        for truth, label, size in zip(truths, labels, sizes, strict=True)
    ]
    return float(np.average(scores, weights=sizes))


def _check_pairs(truths: Sequence[ArrayLike], labels: Sequence[ArrayLike]) -> None:
    if len(truths) != len(labels):
        raise ValueError(f"truths of {len(truths)} parties but labels of {len(labels)}")
