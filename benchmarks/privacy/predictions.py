"""Attack s: a party that chooses its rows and new rows, and sees the labels of its new rows alone.

One column and two clusters. New rows in a grid tell where the boundary is, halfway between both centres. Own
rows in the first cluster, or in the second one, move a centre by an amount that depends on the centre and on
the size of the cluster. So three predictions are about three unknown numbers: both centres and a size. Each
further prediction divides what is open about one boundary by the number of new rows.
"""

from collections.abc import Iterator

import numpy as np

from benchmarks.privacy.own_labels import BOUND, UNIT, counted
from secfc.field.array_types import Floats, Ints, Labels
from secfc.operations.predicting.prediction import plain_prediction

_OWN = np.array([-BOUND, BOUND])
"""Where own rows with a label are, in the first and in the second cluster."""


def predicted(rows: Floats, labels: Labels, new: Floats) -> Labels:
    """The labels of new rows."""
    integers = np.rint(np.concatenate([rows, new]) / UNIT).astype(np.int64).astype(object)
    given = np.concatenate([labels, np.full(new.size, -1, dtype=np.int32)])
    return plain_prediction(integers[:, np.newaxis], given, np.ones(given.size, dtype=np.int64), 2)


def centre_errors(rng: np.random.Generator, *, share: float, others: int, new: int) -> Iterator[float]:
    """The larger error of both centres, relative to their distance, before and after each prediction.

    The first cluster is below the second one; 1 before all three boundaries are known.
    """
    first, count = int(others * rng.uniform(0.25, 0.75)), counted(others, share)
    labels = (np.arange(others) >= first).astype(np.int32)
    rows = np.where(labels == 0, rng.normal(-1.3, 0.5, others), rng.normal(1.3, 0.8, others))
    centres = np.array([rows[labels == h].mean() for h in (0, 1)])
    ends = np.tile([-BOUND, BOUND], (3, 1))
    for number in range(10**6):
        known = number >= len(ends)
        yield _error(ends.mean(axis=1), centres, others, count) if known else 1.0
        at = number % len(ends)  # without own rows, with own rows in the first, in the second cluster
        own = np.full(count if at else 0, _OWN[at - 1])
        given = np.concatenate([labels, np.full(own.size, at - 1, dtype=np.int32)])
        grid = np.linspace(ends[at, 0], ends[at, 1], new + 2)
        found = predicted(np.concatenate([rows, own]), given, grid[1:-1])
        below = int((found == 0).sum())
        ends[at] = grid[below : below + 2]


def _error(boundaries: Floats, centres: Floats, others: int, count: int) -> float:
    """Of the centres that fit the boundaries best, for the size of the first cluster that fits best."""
    sizes: Ints = np.arange(1, others)
    both = np.stack([sizes, others - sizes])
    moved = 2 * (boundaries[1:] - boundaries[0])
    found = _OWN[:, np.newaxis] - moved[:, np.newaxis] * (both + count) / count
    best = abs(found.sum(axis=0) - 2 * boundaries[0]).argmin()
    return min(1.0, float(abs(found[:, best] - centres).max() / (centres[1] - centres[0])))
