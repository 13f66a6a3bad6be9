"""Sets of rows, as one label for each row: -1 for a row in no set. First ones, and sizes."""

import numpy as np

from secfc.field.array_types import Bools, Floats, Ints, Labels


def labels_of_bits(bits: Floats) -> Labels:
    """The labels of rows, from opened bits of each segment, set and row, shape (ell, k, rows).

    -1 unless a row is in exactly one set, the same in all segments. This is no error: if the run ended
    for their owner alone, all parties would learn something about the row.
    """
    one_hot = (bits <= 1).all(axis=(0, 1)) & (bits.sum(axis=1) == 1).all(axis=0)
    readable = one_hot & (bits == bits[0]).all(axis=(0, 1))
    labels: Labels = np.where(readable, bits[0].argmax(axis=0), -1).astype(np.int32)
    return labels


def unreadable(labels: Labels) -> str:
    """What an owner, and nobody else, is told of labels of its rows that are -1. Empty if there are none."""
    count = int((labels < 0).sum())
    if not count:
        return ""
    text = f"{count} of {labels.size} labels are -1: a party lied, and they cannot be read"
    return f"{text}; a prediction with these labels would tell all parties which rows these are"


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


_DRAWS = 64


def random_partition(rng: np.random.Generator, m: int, k: int) -> Labels:
    """A uniformly random label for each row, redrawn until no cluster is empty.

    If 64 draws fail (k close to m), each cluster gets one row, chosen without replacement, and the other rows
    keep a random label. Without this rule, k = m = 40 would need about 10**16 draws.
    """
    for _ in range(_DRAWS):
        labels = rng.integers(k, size=m)
        if np.bincount(labels, minlength=k).all():
            return labels.astype(np.int32)
    labels = rng.integers(k, size=m)
    labels[rng.permutation(m)[:k]] = np.arange(k)
    return labels.astype(np.int32)


def separated_sets(sets: Labels, labels: Labels, core: Bools, k: int) -> Labels:
    """Sets of core rows only (the paper, section 5: S'_h), -1 for the other rows.

    `sets` are `labels` after relocation. `core` marks rows that are at most a third as far from their centre
    as from any other. A cluster without a core keeps all its rows, because S'_h must have a mean.
    """
    kept = core & (sets == labels)
    has_core = np.bincount(sets[kept], minlength=k) > 0
    return np.where(kept | ~has_core[sets], sets, -1).astype(np.int32)
