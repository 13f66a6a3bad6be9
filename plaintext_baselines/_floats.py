"""Sums of sets and nearest centres in float64, in blocks of rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from plaintext_baselines._arrays import FloatArray, IntArray
from plaintext_baselines._frame import binary_exponent

# Entries of the largest temporary: 2 MB of float64 fit in the second-level cache.
BLOCK_ENTRIES = 1 << 18


@dataclass(frozen=True)
class NearestCentres:
    """Every row's nearest centre. Ties go to the lowest cluster, and an empty cluster is never chosen.

    Only the arithmetic that made the squared `distances` knows their form.
    """

    labels: IntArray
    distances: Any


def blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Slices of rows. A temporary of `width` columns for a slice has about BLOCK_ENTRIES entries."""
    step = max(1, BLOCK_ENTRIES // max(1, width))
    for first in range(0, n_rows, step):
        yield slice(first, min(first + step, n_rows))


def set_sums(rows: FloatArray, sets: IntArray, n_clusters: int) -> FloatArray:
    """Sum of each set's rows (-1: in no set), added in row order, shape (n_clusters, n_features)."""
    member = sets >= 0
    starts = np.concatenate(([0], np.cumsum(member)))
    indicator = sparse.csc_array((np.ones(starts[-1]), sets[member], starts), shape=(n_clusters, len(sets)))
    sums: FloatArray = indicator @ rows
    return sums


def set_sizes(sets: IntArray, n_clusters: int) -> IntArray:
    """Number of rows of each set, ndarray of shape (n_clusters,), int64."""
    return np.bincount(sets[sets >= 0], minlength=n_clusters).astype(np.int64)


def assign(rows: FloatArray, centres: FloatArray) -> NearestCentres:
    """Every row's nearest centre, and its squared distance to it; a missing centre is a row of nan."""
    labels = _argmin(rows, centres)
    return NearestCentres(labels, squared_distances(rows, centres, labels))


def squared_distances(rows: FloatArray, centres: FloatArray, labels: IntArray) -> FloatArray:
    """Squared distance of every row to the centre of its label, ndarray of shape (n_rows,), float64."""
    distances = np.empty(len(labels))
    for block in blocks(len(labels), rows.shape[1]):
        difference = rows[block] - centres[labels[block]]
        distances[block] = np.einsum("ij,ij->i", difference, difference)
    return distances


def nearest(rows: FloatArray, centres: FloatArray) -> IntArray:
    """Index of every row's nearest centre in float64; a centre of nan is never chosen."""
    # Use the existing centre nearest to the origin. Its size is that of the relevant distances: centres far
    # beyond it overflow to inf and are not chosen. Moving it to 0 loses little by cancellation.
    sizes = np.abs(centres).max(axis=1)
    origin = centres[int(np.nanargmin(sizes))]
    exponent = binary_exponent(rows, origin)
    with np.errstate(over="ignore"):
        origin = np.ldexp(origin, -exponent)
        return _argmin(np.ldexp(rows, -exponent) - origin, np.ldexp(centres, -exponent) - origin)


def _argmin(rows: FloatArray, centres: FloatArray) -> IntArray:
    exists = np.asarray(np.isfinite(centres).all(axis=1))
    centres = np.where(exists[:, None], centres, 0.0)
    # |x - c|^2 without |x|^2, since that does not change the argmin.
    offsets = np.where(exists, np.einsum("ij,ij->i", centres, centres), np.inf)
    labels = np.empty(len(rows), dtype=np.int64)
    for block in blocks(len(rows), len(centres)):
        scores = rows[block] @ (-2.0 * centres.T)
        scores += offsets
        labels[block] = scores.argmin(axis=1)
    return labels
