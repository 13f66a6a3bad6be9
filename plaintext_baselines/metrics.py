"""How well labels agree with a known truth, each measure named after its definition."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix


def hungarian_accuracy(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of rows that agree under the best one-to-one map of clusters to classes.

    Parameters
    ----------
    truth, labels : array-like of shape (m,)
        Classes and clusters, m >= 1.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Harold W. Kuhn: *The Hungarian method for the assignment problem*, 1955; the "accuracy" of Songze Li et
    al., *Secure Federated Clustering*, section 5.

    Examples
    --------
    >>> hungarian_accuracy([0, 0, 1, 1], [1, 1, 0, 1])
    0.75
    """
    counts = contingency_matrix(truth, labels)
    classes, clusters = linear_sum_assignment(counts, maximize=True)
    return float(counts[classes, clusters].sum() / np.asarray(truth).shape[0])
