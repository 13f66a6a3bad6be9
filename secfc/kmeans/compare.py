"""Find the nearest centre exactly: by floats where a proven bound allows it, else by rational numbers."""

from dataclasses import dataclass, field
from math import inf

import numpy as np
from gmpy2 import mpq

from secfc.array_types import Bools, Floats, Ints, Labels, Objects
from secfc.field.mixed_radix import MixedRadix
from secfc.kernels import Kernels

CORE_FACTOR = 9
"""The square of 3, for the 3:1 rule of "center separation" (the paper, section 5)."""


@dataclass(frozen=True, kw_only=True)
class SquaredDistances:
    """Scaled squared distances D_{i,h} of some rows to the k centres; row i to centre h is D / |S_h|^2."""

    residues: Floats = field(repr=False)  # of D, reduced, shape (P, k, rows); `quotients` may overwrite them
    radix: MixedRadix
    sizes: Ints  # |S_h|, shape (k,); 0 for an empty set, whose centre is never chosen


@dataclass(frozen=True, kw_only=True)
class Quotients:
    """Squared distances in the form in which they are compared."""

    digits: Floats = field(repr=False)  # mixed-radix digits of D, shape (P, k, rows)
    value: Floats = field(repr=False)  # D / |S_h|^2, inf for empty sets, (k, rows); valid until the next call
    labels: Labels = field(repr=False)  # the set with the least value, ties to the lowest index
    doubt: Bools = field(repr=False)  # whether floats cannot decide a row's label
    radix: MixedRadix
    sizes: Ints
    tolerance: float  # relative difference of two values that proves their order

    def exact(self, rows: Ints, wanted: Bools) -> Objects:
        """Exact squared distances of the wanted (centre, row) pairs, inf elsewhere."""
        h, r = np.nonzero(wanted)
        exact = np.full(wanted.shape, inf, dtype=object)
        exact[h, r] = rationals(self.radix.integers(self.digits[:, h, rows[r]]), self.sizes[h])
        return exact

    def core(self, labels: Labels) -> Bools:
        """Rows for which 9 d(own) <= d(other) for every other centre."""
        every, tolerance = np.arange(labels.size), self.tolerance
        own = self.value[labels, every] * CORE_FACTOR
        other = self.value.copy()
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


def quotients(distances: SquaredDistances, kernels: Kernels) -> Quotients:
    """Decode scaled squared distances and divide them by |S_h|^2. At least one set must not be empty."""
    tolerance = relative_tolerance(distances.radix)
    digits, value, labels, doubt = kernels.nearest(
        distances.residues, distances.radix, distances.sizes, tolerance
    )
    return Quotients(
        digits=digits,
        value=value,
        labels=labels,
        doubt=doubt,
        radix=distances.radix,
        sizes=distances.sizes,
        tolerance=tolerance,
    )


def relative_tolerance(radix: MixedRadix) -> float:
    """The relative difference above which two floats prove the order of their exact values.

    Each float has the relative error of `MixedRadix.approximate` and of three more roundings (the size, its
    square, the division). The result is twice the error of both floats and of the comparison.
    """
    return 4 * (radix.relative_error + 4 * 2.0**-53)


def rationals(values: Objects, sizes: Ints) -> Objects:
    """The exact squared distances ``values / sizes**2``, `gmpy2.mpq`, of integers and 1 <= |S_h| < 2**31."""
    found: Objects = np.frompyfunc(mpq, 2, 1)(values, (sizes**2).astype(object))
    return found


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """The nearest centre of some rows."""

    labels: Labels = field(repr=False)  # ties go to the lowest index
    own: Floats = field(repr=False)  # digits of D for that centre, shape (P, rows)
    core: Bools = field(repr=False)  # whether every other centre is at least three times as far, if asked
    near_ties: int  # rows that floats could not decide
    value: Floats = field(repr=False)  # as in `Quotients`


def nearest(found: Quotients, *, with_core: bool = False) -> Nearest:
    """Exact argmin over the centres of each row, ties to the lowest index. `with_core` adds the 3:1 rule."""
    digits, value, labels = found.digits, found.value, found.labels
    contested = np.flatnonzero(found.doubt)
    if contested.size:
        some = value[:, contested]
        near = some <= some.min(axis=0) * (1 + found.tolerance)
        labels[contested] = found.exact(contested, near).argmin(axis=0)
    picked = labels.astype(np.intp) * labels.size + np.arange(labels.size)
    own = np.take(digits.reshape(digits.shape[0], -1), picked, axis=1)
    core = found.core(labels) if with_core else np.zeros(labels.size, dtype=np.bool_)
    return Nearest(labels=labels, own=own, core=core, near_ties=contested.size, value=value)
