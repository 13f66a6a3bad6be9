"""Find the nearest centre exactly: by floats where a proven bound allows it, else by rational numbers.

In the same way rows are moved to emptied clusters.
"""

from dataclasses import dataclass, field
from math import inf

import numpy as np

from secfc.field.array_types import Bools, Floats, Ints, Labels, Objects, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.kernels import Kernels
from secfc.kernels.interface import Compared

CORE_FACTOR = 9
"""The square of 3, for the 3:1 rule of "center separation" (the paper, section 5)."""


@dataclass(frozen=True, kw_only=True)
class Quotients:
    """Scaled squared distances D_{i,h} of some rows to the k centres, that floats have compared.

    Row i to centre h is D / |S_h|^2.
    """

    digits: Shares = field(repr=False)  # mixed-radix digits of D, shape (P, k, rows)
    radix: MixedRadix
    sizes: Ints  # |S_h|, shape (k,); 0 for an empty set, whose centre is never chosen
    compared: Compared
    tolerance: float  # relative difference of two values that proves their order

    def values(self, rows: slice | Ints = slice(None)) -> Floats:
        """D / |S_h|^2 of some of the rows, shape (k, rows), inf for empty sets."""
        return self.radix.quotients(self.digits[:, :, rows], self.sizes)

    def exact(self, rows: Ints, wanted: Bools) -> Objects:
        """Exact squared distances of the wanted (centre, row) pairs, inf elsewhere."""
        h, r = np.nonzero(wanted)
        exact = np.full(wanted.shape, inf, dtype=object)
        exact[h, r] = rationals(self.radix.integers(self.digits[:, h, rows[r]]), self.sizes[h])
        return exact

    def core(self, labels: Labels) -> Bools:
        """Rows for which 9 d(own) <= d(other) for every other centre."""
        every, tolerance, other = np.arange(labels.size), self.tolerance, self.values()
        own = other[labels, every] * CORE_FACTOR
        other[labels, every] = np.inf
        closest = other.min(axis=0)
        core: Bools = own <= closest
        finite = np.isfinite(closest)
        doubtful = np.flatnonzero(finite)[np.abs(own - closest)[finite] <= (closest * tolerance)[finite]]
        if doubtful.size:
            rivals = other[:, doubtful] <= closest[doubtful] * (1 + tolerance)
            mine = np.zeros_like(rivals)
            mine[labels[doubtful], np.arange(doubtful.size)] = True
            nearest_rival = self.exact(doubtful, rivals).min(axis=0)
            core[doubtful] = CORE_FACTOR * self.exact(doubtful, mine).min(axis=0) <= nearest_rival
        return core


def quotients(digits: Shares, radix: MixedRadix, sizes: Ints, kernels: Kernels) -> Quotients:
    """Divide scaled squared distances by |S_h|^2 and compare. At least one set must not be empty."""
    tolerance = relative_tolerance(radix)
    compared = kernels.nearest(digits, radix, sizes, tolerance)
    return Quotients(digits=digits, radix=radix, sizes=sizes, compared=compared, tolerance=tolerance)


def relative_tolerance(radix: MixedRadix) -> float:
    """The relative difference above which two floats prove the order of their exact values.

    Each float has the relative error of `MixedRadix.approximate` and of three more roundings (the size, its
    square, the division). The result is twice the error of both floats and of the comparison.
    """
    return 4 * (radix.relative_error + 4 * 2.0**-53)


def rationals(values: Objects, sizes: Ints) -> Objects:
    """The exact squared distances ``values / sizes**2``, `gmpy2.mpq`, of integers and 1 <= |S_h| < 2**31."""
    from gmpy2 import mpq  # noqa: PLC0415 - takes 40 ms, and most parties compare nothing

    found: Objects = np.frompyfunc(mpq, 2, 1)(values, (sizes**2).astype(object))
    return found


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """The nearest centre of some rows."""

    labels: Labels = field(repr=False)  # ties go to the lowest index
    own: Shares = field(repr=False)  # digits of D for that centre, shape (P, rows)
    second: Floats = field(repr=False)  # D / |S_h|^2 for the nearest other centre, inf if there is none
    core: Bools = field(repr=False)  # whether every other centre is at least three times as far, if asked
    near_ties: int  # rows that floats could not decide


def nearest(found: Quotients, *, with_core: bool = False) -> Nearest:
    """Exact argmin over the centres of each row, ties to the lowest index. `with_core` adds the 3:1 rule."""
    labels, own, second = found.compared.labels, found.compared.own, found.compared.second
    contested = np.flatnonzero(found.compared.contested)
    if contested.size:
        value, every = found.values(contested), np.arange(contested.size)
        near = value <= value.min(axis=0) * (1 + found.tolerance)
        chosen = found.exact(contested, near).argmin(axis=0)
        value[chosen, every] = np.inf
        labels[contested], own[:, contested] = chosen, found.digits[:, chosen, contested]
        second[contested] = value.min(axis=0)
    core = found.core(labels) if with_core else np.zeros(labels.size, dtype=np.bool_)
    return Nearest(labels=labels, own=own, second=second, core=core, near_ties=contested.size)


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
