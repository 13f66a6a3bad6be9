"""A start from given centres: the owner of each row finds the nearest centre exactly."""

from math import inf

import numpy as np
from gmpy2 import mpq

from secfc.array_types import Bools, Floats, Ints, Labels, Objects
from secfc.field.fixed_point import quantise

_BLOCK_ELEMENTS = 1 << 17

_UNDERFLOW = 2.0**-1000
"""Underflow takes less than this from a sum of fewer than 2**32 squares."""


def nearest_given(rows: Floats, centres: Floats, exponent: int) -> Labels:
    """The nearest centre of each row, exactly, ties to the lowest index.

    Rows are quantised as in the protocol: multiplied by ``2**exponent`` and rounded to whole numbers.
    Centres are not rounded and may be any float64. `secfc.kmeans.compare` needs residues of whole numbers, so
    it cannot be used here.

    Parameters
    ----------
    rows : ndarray of shape (m, d), float64
        Within the bound from which `exponent` was computed.
    centres : ndarray of shape (k, d), float64
        Finite, in the units of the rows.
    exponent : int
        Exponent of the public scale (`secfc.field.fixed_point.scale_exponent`).

    Returns
    -------
    ndarray of shape (m,), int32
    """
    # A difference, its square and a sum of d squares have an error of at most (d + 2) 2**-53 of the sum: no
    # term is negative. The tolerance is twice the error of both sums and of the comparison. A square that
    # overflows is inf. Two infinities are compared exactly.
    tolerance = 4 * (rows.shape[1] + 4) * 2.0**-53
    exact = _exact(centres, exponent)
    labels = np.empty(rows.shape[0], dtype=np.int32)
    step = max(1, _BLOCK_ELEMENTS // max(centres.shape))
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(centres, exponent)
        for start in range(0, rows.shape[0], step):
            whole = quantise(rows[start : start + step], exponent)
            value = np.stack([np.square(whole - centre).sum(axis=1) for centre in scaled])
            rivals = value <= value.min(axis=0) * (1 + tolerance) + _UNDERFLOW
            found = rivals.argmax(axis=0)
            contested = np.flatnonzero(rivals.sum(axis=0) > 1)
            if contested.size:
                found[contested] = _nearest(whole[contested], exact, rivals[:, contested])
            labels[start : start + step] = found
    return labels


def _exact(centres: Floats, exponent: int) -> Objects:
    """``centres * 2**exponent`` without rounding, as `gmpy2.mpq`."""
    scale = mpq(2) ** exponent
    scaled: Objects = np.frompyfunc(lambda entry: mpq(entry) * scale, 1, 1)(centres.astype(object))
    return scaled


def _nearest(whole: Floats, centres: Objects, rivals: Bools) -> Ints:
    """The nearest among the centres marked in `rivals`, computed with rational numbers."""
    rows: Objects = np.frompyfunc(mpq, 1, 1)(whole.astype(object))
    exact = np.full(rivals.shape, inf, dtype=object)
    for at, centre in enumerate(centres):
        exact[at, rivals[at]] = ((rows[rivals[at]] - centre) ** 2).sum(axis=1)
    found: Ints = exact.argmin(axis=0)
    return found
