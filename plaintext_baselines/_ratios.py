"""Exact centres: rational vectors with one denominator each, and their correctly rounded floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Integers = npt.NDArray[np.object_]  # Python integers


@dataclass(frozen=True, eq=False)
class RationalCentres:
    """Centre h is ``numerators[h] / denominators[h]``, in units of the quantised rows.

    For the mean of a set these are the sum of its rows and its size, so that the squared distance of row x is
    ``||numerators[h] - denominators[h] x||^2 / denominators[h]^2``.

    Attributes
    ----------
    numerators : ndarray of shape (n_clusters, n_features), object (int)
    denominators : tuple of int of length n_clusters
        0 for an empty set: no centre.
    """

    numerators: Integers
    denominators: tuple[int, ...]

    @classmethod
    def from_floats(cls, centres: FloatArray, exponent: int) -> RationalCentres:
        """Exactly ``centres * 2^exponent``: every float is an integer over a power of two.

        Parameters
        ----------
        centres : ndarray of shape (n_clusters, n_features), float64, finite
        """
        numerators = np.empty(centres.shape, dtype=object)
        denominators = []
        for cluster, centre in enumerate(centres.tolist()):
            ratios = [entry.as_integer_ratio() for entry in centre]
            common = max(below for _, below in ratios)
            numerators[cluster] = [above * (common // below) << max(exponent, 0) for above, below in ratios]
            denominators.append(common << max(-exponent, 0))
        return cls(numerators, tuple(denominators))

    def to_floats(self, exponent: int) -> FloatArray:
        """``centres / 2^exponent`` correctly rounded; nan where there is no centre."""
        floats = np.full(self.numerators.shape, np.nan)
        for cluster, denominator in enumerate(self.denominators):
            if denominator:
                row = self.numerators[cluster].tolist()
                floats[cluster] = [ratio_to_float(entry, denominator, exponent) for entry in row]
        return floats

    def translated(self, shift: Sequence[int]) -> RationalCentres:
        """The centres plus an integer vector."""
        step = np.array(self.denominators, dtype=object)[:, None] * np.array(shift, dtype=object)
        return RationalCentres(self.numerators + step, self.denominators)


def ratio_to_float(numerator: int, denominator: int, exponent: int) -> float:
    """``numerator / (denominator * 2^exponent)`` rounded to the nearest float64, inf beyond its range."""
    if exponent >= 0:
        denominator <<= exponent
    else:
        numerator <<= -exponent
    try:
        return numerator / denominator  # Python rounds the quotient of two integers correctly
    except OverflowError:
        return np.inf if numerator > 0 else -np.inf


def sum_of_ratios(ratios: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Exact sum of (numerator, denominator) pairs, unreduced.

    Added as a binary tree, so that almost all additions are of short numbers; reducing would cost more.
    """
    level = list(ratios)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        added = [(a * d + c * b, b * d) for (a, b), (c, d) in pairs]
        level = added + level[len(level) & ~1 :]
    return level[0] if level else (0, 1)
