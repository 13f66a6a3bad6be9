"""Starts: the random partition, and the cores that "center separation" takes from a first clustering."""

import numpy as np

from secfc.field.array_types import Bools, Labels

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
