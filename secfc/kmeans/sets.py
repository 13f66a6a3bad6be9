"""Sets of rows as one label a row: -1 for a row in no set."""

import numpy as np

from secfc.array_types import Ints, Labels


def set_sizes(sets: Labels, k: int) -> Ints:
    """Rows of each set, shape (k,); rows with label -1 are in none."""
    return np.bincount(sets + 1, minlength=k + 1)[1:].astype(np.int64)


def set_weights(sets: Labels, k: int, weights: Ints | None) -> Ints:
    """What the sums of sets are divided by, shape (k,): rows, or where rows have weights the sum of these.

    A row that is alone in a set counts once whatever its weight is: its mean is the row itself, and distances
    to several such rows, the candidates of a start, have one scale.
    """
    rows = set_sizes(sets, k)
    return rows if weights is None else np.where(rows == 1, 1, weight_sums(sets, k, weights))


def weight_sums(sets: Labels, k: int, weights: Ints) -> Ints:
    """Sums of the weights of the rows of each set, shape (k,); exact, as weights are 2**29 at most in all."""
    return np.bincount(sets + 1, weights=weights, minlength=k + 1)[1:].astype(np.int64)


def rows_hidden_among(sets: Labels, k: int, weights: Ints | None) -> Ints:
    """How many rows a set counts for where small sets are refused, shape (k,).

    Where rows have weights, those of the heaviest row's weight that would weigh as much as the set, rounded
    down, and so never more than it has rows. A mean is nearly a row that has nearly all the weight.
    """
    if weights is None:
        return set_sizes(sets, k)
    heaviest, inside = np.ones(k, dtype=np.int64), sets >= 0
    np.maximum.at(heaviest, sets[inside], weights[inside])
    return weight_sums(sets, k, weights) // heaviest


def asked_about(sizes: Ints) -> int:
    """How many sets an answer is about: up to the last with a row, since the others have no centre."""
    return int(sizes.nonzero()[0][-1]) + 1
