"""Distances of found centres from the true ones: the knowledge gap of FFCM's evaluation metrics."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from plaintext_baselines._arrays import FloatArray


def matched_knowledge_gap(truth: ArrayLike, centers: ArrayLike) -> float:
    """Sum over k of ||c~_k - c_k||, with the one-to-one match of centres for which the sum is least.

    FFCM's "gap"; the paper does not define the matching.

    Examples
    --------
    >>> matched_knowledge_gap([[0.0], [4.0]], [[5.0], [4.0]])
    5.0
    """
    distances = _distances(truth, centers)
    if distances.shape[0] != distances.shape[1]:
        raise ValueError(f"{distances.shape[0]} true centres cannot be matched to {distances.shape[1]}")
    return float(distances[linear_sum_assignment(distances)].sum())


def nearest_knowledge_gap(truth: ArrayLike, centers: ArrayLike) -> float:
    """Sum over the true centres of the distance to the nearest found one, which may be that of several.

    It is never more than the matched gap. If one centre is found twice and another is missing, the value
    shows this only in part. It is FFCM's "gap" as its code matches centres. Table 3 has it with the arguments
    exchanged, as a sum over the found centres.

    Examples
    --------
    >>> nearest_knowledge_gap([[0.0], [4.0]], [[5.0], [4.0]])
    4.0
    """
    return float(_distances(truth, centers).min(axis=1).sum())


def normalised_knowledge_gap(truth: ArrayLike, centers: ArrayLike) -> float:
    """The matched knowledge gap divided by the square root of the number of features: FFCM's "ngap".

    Examples
    --------
    >>> normalised_knowledge_gap([[0.0] * 4], [[3.0] * 4])
    3.0
    """
    return matched_knowledge_gap(truth, centers) / float(np.sqrt(np.asarray(truth).shape[1]))


def _distances(truth: ArrayLike, centers: ArrayLike) -> FloatArray:
    true, found = np.asarray(truth, dtype=np.float64), np.asarray(centers, dtype=np.float64)
    if true.ndim != 2 or found.ndim != 2 or true.shape[1] != found.shape[1]:
        raise ValueError(f"truth has shape {true.shape}, centers {found.shape}: both need rows of one width")
    if not np.isfinite(found).all():
        raise ValueError("centers have nan or infinity: a gap needs every centre")
    return np.asarray(cdist(true, found))
