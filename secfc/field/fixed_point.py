"""From real rows to integers: a public power-of-two scale, rounding to nearest, and a bound on the result.

The scale depends on the public bound on a row's norm. So the number of residues of a run does not depend on
the units of its data.
"""

import sys
from fractions import Fraction
from math import frexp, isqrt

import numpy as np
from numpy.typing import NDArray

from secfc.array_types import Floats

_SLACK = Fraction(1, 2**40)
"""Relative tolerance for the rounding of a computed norm: (d + 4) 2**-53 for d <= 2**12 and pairwise sums far
beyond. The modulus includes it, so a row on the bound is never refused because of rounding."""


_SMALLEST = Fraction(1, 2**1074)
"""Smallest float64 above 0. The rounding error of a subnormal norm is absolute, at most half of this."""

_BLOCK_ELEMENTS = 1 << 17


def row_norms(rows: NDArray[np.float64]) -> Floats:
    """Euclidean norm of each finite row, shape (m,), without overflow, and without underflow of the largest.

    A norm is inf if it exceeds the largest float64. A norm that is smaller than the largest one of the same
    call by a factor of 2**500 can be 0.
    """
    largest = float(np.abs(rows).max(initial=0.0))
    if largest == 0.0:
        return np.zeros(rows.shape[0])
    exponent = frexp(largest)[1]
    norms = np.empty(rows.shape[0])
    step = max(1, _BLOCK_ELEMENTS // rows.shape[1])
    for start in range(0, rows.shape[0], step):
        # In C order NumPy sums a row pairwise. In Fortran order it does not, and the error is larger.
        scaled = np.ldexp(np.ascontiguousarray(rows[start : start + step]), -exponent)
        with np.errstate(over="ignore"):
            norms[start : start + step] = np.ldexp(np.sqrt((scaled * scaled).sum(axis=1)), exponent)
    return norms


def scale_exponent(bound: float, precision: int) -> int:
    """E of the public scale 2**E = 2**(precision - ceil(log2 bound)). E = precision for bound 0."""
    if bound == 0.0:
        return precision
    mantissa, exponent = frexp(bound)
    # bound = mantissa * 2**exponent with 1/2 <= mantissa < 1: a power of two has mantissa 1/2.
    return precision - (exponent - 1 if mantissa == 0.5 else exponent)


def norm_limit(bound: float) -> float:
    """The largest computed norm accepted for a public bound."""
    return min(bound * (1.0 + float(_SLACK) / 2), sys.float_info.max)


def quantised_radius(bound: float, precision: int, d: int) -> int:
    """An integer that is at least the norm of every quantised row.

    ||rint(s x)|| <= s ||x|| + sqrt(d)/2: rounding moves each of d entries by at most 1/2.
    """
    accepted = Fraction(bound) * (1 + _SLACK) + _SMALLEST
    scaled = accepted * Fraction(2) ** scale_exponent(bound, precision)
    return -(-scaled.numerator // scaled.denominator) + (isqrt(d) + 2) // 2 + 1


def quantise(rows: NDArray[np.float64], exponent: int) -> Floats:
    """Integers nearest to ``2**exponent * rows`` (ties to even), as float64, exact below 2**53."""
    return np.rint(np.ldexp(rows, exponent))
