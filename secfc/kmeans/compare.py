"""Which centre is nearest, exactly: floats where a proven bound decides, integers for near-ties."""

from dataclasses import dataclass

import numpy as np

from secfc._arrays import Bools, Floats, Ints, Labels, Objects
from secfc.field.mixed_radix import MixedRadix

CORE_FACTOR = 9
"""Squared 3 of the 3:1 rule of "center separation" (the paper, section 5)."""


@dataclass(frozen=True, kw_only=True)
class SquaredDistances:
    """Scaled squared distances D_{i,h} of some rows to the k centres; row i to centre h is D / |S_h|^2.

    Attributes
    ----------
    digits : ndarray of shape (P, rows, k), float64
        Mixed-radix digits of D.
    radix : MixedRadix
    sizes : ndarray of shape (k,), int64
        |S_h|; 0 for an empty set, whose centre is never chosen.
    """

    digits: Floats
    radix: MixedRadix
    sizes: Ints

    def approximate(self) -> Floats:
        """float64 of D / |S_h|^2, shape (rows, k), inf for empty sets."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.radix.approximate(self.digits) / self.sizes.astype(np.float64) ** 2
        value[:, self.sizes == 0] = np.inf
        return value


def relative_tolerance(radix: MixedRadix) -> float:
    """Two values whose floats differ by more than this, relatively, are in the order of their floats.

    Each has the relative error of `MixedRadix.approximate` and three roundings more (the size, its square,
    the division); both, and the comparison itself, are covered twice over.
    """
    return 4 * (radix.relative_error + 4 * 2.0**-53)


def order_keys(values: Objects, sizes: Ints, m: int) -> Objects:
    """Integers in the exact order of the rationals ``values / sizes**2``, equal where they are equal.

    Two different rationals c D_a / s_a^2 and D_b / s_b^2 with s <= m differ by at least
    1/(s_a^2 s_b^2) >= m**-4, so after multiplication by 2**F >= 2 m**4 they differ by 2 or more, and
    their floors differ in the same direction.

    Parameters
    ----------
    values : ndarray of dtype object
        Python integers D (or an integer multiple of them).
    sizes : ndarray of the same shape, int64
        |S_h| >= 1.
    m : int
        Largest possible size.
    """
    shift = 4 * m.bit_length() + 1
    keys: Objects = (values << shift) // (sizes.astype(object) ** 2)
    return keys


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """The nearest centre of some rows.

    Attributes
    ----------
    labels : ndarray of shape (rows,), int32
        Ties go to the lowest index.
    own : ndarray of shape (P, rows), float64
        Digits of D to that centre.
    core : ndarray of shape (rows,), bool
        Whether every other centre is at least three times as far (False unless asked for).
    near_ties : int
        Rows that floats could not decide.
    """

    labels: Labels
    own: Floats
    core: Bools
    near_ties: int


def nearest(distances: SquaredDistances, *, m: int, with_core: bool = False) -> Nearest:
    """Exact argmin over the centres of each row, ties to the lowest index.

    Parameters
    ----------
    distances : SquaredDistances
        At least one set is not empty.
    m : int
        Rows in all, a bound on every size.
    with_core : bool
        Also decide the 3:1 rule.
    """
    value = distances.approximate()
    best = value.min(axis=1, keepdims=True)
    near = value <= best * (1 + relative_tolerance(distances.radix))
    labels = near.argmax(axis=1).astype(np.int32)
    contested = np.flatnonzero(near.sum(axis=1) > 1)
    if contested.size:
        keys = _keys(distances, contested, near[contested], 1, m)
        labels[contested] = keys.argmin(axis=1)
    picked = labels[np.newaxis, :, np.newaxis]
    own = np.take_along_axis(distances.digits, picked.astype(np.intp), axis=2)[..., 0]
    core = _core(distances, value, labels, m) if with_core else np.zeros(labels.size, dtype=np.bool_)
    return Nearest(labels=labels, own=own, core=core, near_ties=contested.size)


def _keys(distances: SquaredDistances, rows: Ints, wanted: Bools, factor: int, m: int) -> Objects:
    """Order keys of the wanted (row, centre) pairs; elsewhere a number above all keys."""
    r, h = np.nonzero(wanted)
    integers = distances.radix.integers(distances.digits[:, rows[r], h]) * factor
    keys = np.full(wanted.shape, 1 << 1024, dtype=object)
    keys[r, h] = order_keys(integers, distances.sizes[h], m)
    return keys


def _core(distances: SquaredDistances, value: Floats, labels: Labels, m: int) -> Bools:
    """Rows for which 9 d(own) <= d(other) for every other centre."""
    every = np.arange(labels.size)
    own = value[every, labels][:, np.newaxis] * CORE_FACTOR
    other = value.copy()
    other[every, labels] = np.inf
    closest = other.min(axis=1, keepdims=True)
    tolerance = relative_tolerance(distances.radix)
    core: Bools = (own <= closest)[:, 0]
    doubtful = np.flatnonzero(
        (np.abs(own - closest) <= closest * tolerance)[:, 0] & np.isfinite(closest[:, 0])
    )
    if doubtful.size:
        rivals = other[doubtful] <= closest[doubtful] * (1 + tolerance)
        mine = np.zeros_like(rivals)
        mine[np.arange(doubtful.size), labels[doubtful]] = True
        own_keys = _keys(distances, doubtful, mine, CORE_FACTOR, m).min(axis=1)
        core[doubtful] = own_keys <= _keys(distances, doubtful, rivals, 1, m).min(axis=1)
    return core
