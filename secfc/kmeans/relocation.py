"""Emptied clusters, as scikit-learn relocates them, in an exact order."""

import numpy as np

from secfc.array_types import Ints, Labels, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.kmeans.compare import rationals, relative_tolerance


def relocate(labels: Labels, own: Shares, radix: MixedRadix, sizes: Ints) -> Labels:
    """The next sets: `labels`, with the rows farthest from their centres moved to emptied clusters.

    In ascending index each cluster without a row takes the row farthest from its own centre, farthest first
    and ties by row index. Where even the farthest row lies on its centre, nothing moves (`labels` itself is
    returned). A cluster that gives its only row away stays empty.

    Parameters
    ----------
    own : ndarray of shape (P, m), float32
        Digits of D to the nearest centre (below 2**24, so exact).
    sizes : ndarray of shape (k,), int64
        Sizes of the sets that the distances were computed to.
    """
    m = labels.size
    emptied = np.flatnonzero(np.bincount(labels, minlength=sizes.size) == 0)
    if emptied.size == 0 or not own.any():
        return labels
    value = radix.approximate(own.astype(np.float64)) / sizes[labels].astype(np.float64) ** 2
    threshold = np.partition(value, m - emptied.size)[m - emptied.size]
    # Rows that floats cannot exclude from the `emptied.size` farthest.
    candidates = np.flatnonzero(value >= threshold * (1 - relative_tolerance(radix)))
    exact = rationals(radix.integers(own[:, candidates].astype(np.float64)), sizes[labels[candidates]])
    farthest = candidates[np.argsort(-exact, kind="stable")[: emptied.size]]
    sets = labels.copy()
    sets[farthest] = emptied
    return sets
