"""Sets of rows, as one label for each row: -1 for a row in no set."""

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Ints, Labels


def labels_of_bits(bits: Floats) -> Labels:
    """The labels of rows, from opened bits of each segment, set and row, shape (ell, k, rows).

    CheatError unless each row is in exactly one set, the same in all segments.
    """
    if (bits > 1).any() or (bits.sum(axis=1) != 1).any() or (bits != bits[0]).any():
        raise CheatError("opened labels are not one-hot", code=Code.BAD_MESSAGE)
    labels: Labels = bits[0].argmax(axis=0).astype(np.int32)
    return labels


def set_sizes(sets: Labels, k: int) -> Ints:
    """The number of rows in each set, shape (k,)."""
    return np.bincount(sets + 1, minlength=k + 1)[1:].astype(np.int64)


def rows_hidden_among(sets: Labels, k: int, weights: Ints | None) -> Ints:
    """The number of rows that a set counts for in the check against small sets, shape (k,).

    If rows have weights, it is the set's weight divided by the weight of its heaviest row, rounded down. That
    is never more than the number of rows. A mean is nearly a row that has nearly all the weight.
    """
    if weights is None:
        return set_sizes(sets, k)
    total = np.bincount(sets + 1, weights=weights, minlength=k + 1)[1:].astype(np.int64)  # at most 2**29
    heaviest, inside = np.ones(k, dtype=np.int64), sets >= 0
    np.maximum.at(heaviest, sets[inside], weights[inside])
    return total // heaviest


def asked_about(sizes: Ints) -> int:
    """How many sets need an answer: all up to the last one with a row. Those after it have no centre."""
    return int(sizes.nonzero()[0][-1]) + 1
