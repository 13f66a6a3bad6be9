"""Real rows to integers: a public unit, rounding to nearest, and the bound it obeys.

The unit is the length that becomes 1: a power of two that follows from the public bound on a row's norm, so
that the number of residues of a run does not depend on the units of its data. Or it is a step that all rows
are multiples of, and nothing is rounded.
"""

import sys
from fractions import Fraction
from math import frexp, isqrt

import numpy as np
from numpy.typing import NDArray

from secfc.field.array_types import Bools, Floats

_SLACK = Fraction(1, 2**40)
"""Relative tolerance for the rounding of a computed norm: (d + 4) 2**-53 for d <= 2**12 and pairwise sums far
beyond. The modulus includes it, so a row on the bound is never refused because of rounding."""


_SMALLEST = Fraction(1, 2**1074)
"""Smallest float64 above 0. The rounding error of a subnormal norm is absolute, at most half of this."""

_ROUNDED = Fraction(1, 2**50)
"""Of the bound: what rounding may take a multiple of a step off. A decimal number, the step and their
quotient are each off by 2**-53 of themselves; a sum or difference of such numbers is off by little more."""

MAX_STEPS = 1 << 44
"""Steps of a bound: 2**-50 of it is 2**-6 of a step then, so one integer is meant."""

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


def unit_of(bound: float, precision: int, step: float | None = None) -> Fraction:
    """The length that becomes 1: 2**-E, or the step, which is the decimal number that is written."""
    if step is None:
        return Fraction(2) ** -scale_exponent(bound, precision)
    return Fraction(repr(step))


def step_of(multiple: Fraction | None, bound: float) -> float | None:
    """The step of values that are all multiples of a number, if a step can be so small beside the bound."""
    if multiple is None or bound > MAX_STEPS * multiple:
        return None
    step = float(multiple)
    return step if Fraction(repr(step)) == multiple else None


def quantised_radius(bound: float, precision: int, d: int, step: float | None = None) -> int:
    """An integer of at least 1 that no quantised row's norm exceeds.

    ||rint(s x)|| <= s ||x|| + sqrt(d)/2: rounding moves each of d entries by at most 1/2. With a step it
    moves each by at most 2**-50 of the bound, and the square of a norm is an integer.
    """
    accepted, unit = Fraction(bound) * (1 + _SLACK) + _SMALLEST, unit_of(bound, precision, step)
    if step is None:
        scaled = accepted / unit
        return -(-scaled.numerator // scaled.denominator) + (isqrt(d) + 2) // 2 + 1
    square = int(((accepted + _ROUNDED * Fraction(bound) * (isqrt(d) + 1)) / unit) ** 2)
    root = isqrt(square)
    return max(1, root + (root * root < square))


def in_units(values: NDArray[np.float64], unit: Fraction) -> Floats:
    """Values over a unit: exact for a power of two, else each is the float64 nearest to value over step."""
    above, below = unit.numerator, unit.denominator
    if above & (above - 1) == 0 == below & (below - 1):
        return np.ldexp(values, below.bit_length() - above.bit_length())
    return values / float(unit)


def quantise(rows: NDArray[np.float64], unit: Fraction) -> Floats:
    """Integers nearest to ``rows / unit`` (ties to even), as float64, exact below 2**53."""
    return np.rint(in_units(rows, unit))


def off_step(rows: NDArray[np.float64], step: float, bound: float) -> Bools:
    """Which rows, of norms within the bound, are no multiples of a step within rounding; shape (m,)."""
    off, unit = np.zeros(rows.shape[0], dtype=np.bool_), unit_of(bound, 1, step)
    room = float(_ROUNDED * Fraction(bound) / unit)
    block = max(1, _BLOCK_ELEMENTS // rows.shape[1])
    for start in range(0, rows.shape[0], block):
        steps = in_units(rows[start : start + block], unit)
        off[start : start + block] = (np.abs(steps - np.rint(steps)) > room).any(axis=1)
    return off
