"""Move rows to emptied clusters, as scikit-learn does, except for the order of rows that are equally far."""

import numpy as np

from secfc.field.array_types import Ints, Labels, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.kmeans.compare import rationals, relative_tolerance


def relocate(labels: Labels, own: Shares, radix: MixedRadix, sizes: Ints) -> Labels:
    """The next sets: `labels`, with the rows farthest from their centres moved to emptied clusters.

    Each cluster without a row, in ascending index, gets the row that is farthest from its own centre. Rows
    are taken farthest first, ties by row index. (In scikit-learn the order of ties, and of several rows, is
    that of `numpy.argpartition`, which promises none.) If even the farthest row lies on its centre, no row
    moves and `labels` itself is returned. A cluster that loses its only row stays empty.

    `own`, shape (P, m), are digits of D for the nearest centre, below 2**24, so exact. `sizes`, shape (k,),
    are those of the sets whose means the distances are to.
    """
    m = labels.size
    emptied = np.flatnonzero(np.bincount(labels, minlength=sizes.size) == 0)
    if emptied.size == 0 or not own.any():
        return labels
    value = radix.approximate(own) / sizes[labels].astype(np.float64) ** 2
    threshold = np.partition(value, m - emptied.size)[m - emptied.size]
    # Rows that may be among the `emptied.size` farthest, as far as floats can tell.
    candidates = np.flatnonzero(value >= threshold * (1 - relative_tolerance(radix)))
    exact = rationals(radix.integers(own[:, candidates]), sizes[labels[candidates]])
    farthest = candidates[np.argsort(-exact, kind="stable")[: emptied.size]]
    sets = labels.copy()
    sets[farthest] = emptied
    return sets
