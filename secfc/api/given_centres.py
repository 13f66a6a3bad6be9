"""A start from given centres: the owner of each row finds the nearest centre exactly."""

from fractions import Fraction
from math import inf

import numpy as np

from secfc.field.array_types import Bools, Floats, Ints, Labels, Objects
from secfc.field.fixed_point import in_units, quantise

_BLOCK_ELEMENTS = 1 << 17

_UNDERFLOW = 2.0**-500
"""More than underflow can take from the root of a sum of fewer than 2**32 squares."""


def nearest_given(rows: Floats, centres: Floats, unit: Fraction) -> Labels:
    """The nearest centre of each row, exactly, ties to the lowest index.

    Rows count as the protocol has them: divided by the unit and rounded to whole numbers. Centres
    are not rounded. `secfc.kmeans.compare` does not serve here: it takes residues of whole numbers, and a
    centre may be any float64.

    Rows, shape (m, d), are within the bound that `unit` is from (`secfc.field.fixed_point.unit_of`). Centres,
    shape (k, d), are finite and in the units of the rows. Labels have shape (m,).
    """
    # A difference, its square and a sum of d squares are off by (d + 2) 2**-53 of the sum at most: no term is
    # negative; its root by less. Both roots, and the comparison itself, are covered twice over. A centre is
    # off by 2**-52 of its norm where the unit is no power of two, and `moved` is four times that. Where a
    # square overflows it is inf, and what is no number then is compared exactly.
    tolerance = 4 * (rows.shape[1] + 4) * 2.0**-53
    exact = _exact(centres, unit)
    labels = np.empty(rows.shape[0], dtype=np.int32)
    step = max(1, _BLOCK_ELEMENTS // max(centres.shape))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scaled = in_units(centres, unit)
        moved = np.abs(scaled).max(axis=1, keepdims=True) * (rows.shape[1] ** 0.5 * 2.0**-50)
        for start in range(0, rows.shape[0], step):
            whole = quantise(rows[start : start + step], unit)
            value = np.sqrt([np.square(whole - centre).sum(axis=1) for centre in scaled])
            rivals = ~(value - moved > (value + moved).min(axis=0) * (1 + tolerance) + _UNDERFLOW)
            found = rivals.argmax(axis=0)
            contested = np.flatnonzero(rivals.sum(axis=0) > 1)
            if contested.size:
                found[contested] = _nearest(whole[contested], exact, rivals[:, contested])
            labels[start : start + step] = found
    return labels


def _exact(centres: Floats, unit: Fraction) -> Objects:
    """Exactly ``centres / unit``, as `gmpy2.mpq`."""
    from gmpy2 import mpq  # noqa: PLC0415 - takes 40 ms

    length = mpq(unit)
    scaled: Objects = np.frompyfunc(lambda entry: mpq(entry) / length, 1, 1)(centres.astype(object))
    return scaled


def _nearest(whole: Floats, centres: Objects, rivals: Bools) -> Ints:
    """The nearest among the centres marked in `rivals`, computed with rational numbers."""
    from gmpy2 import mpq  # noqa: PLC0415 - takes 40 ms

    rows: Objects = np.frompyfunc(mpq, 1, 1)(whole.astype(object))
    exact = np.full(rivals.shape, inf, dtype=object)
    for at, centre in enumerate(centres):
        exact[at, rivals[at]] = ((rows[rivals[at]] - centre) ** 2).sum(axis=1)
    found: Ints = exact.argmin(axis=0)
    return found
