"""Convert floats to the whole numbers that exact k-means uses."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from plaintext_baselines._arrays import FloatArray
from plaintext_baselines._floats import blocks
from plaintext_baselines._frame import binary_exponent

# With up to 52 bits, a quantised entry and the difference of two are at most 2^53, so exact in float64.
MAX_PRECISION = 52


def largest_norms(data: Sequence[FloatArray]) -> list[float]:
    """Each party's largest Euclidean row norm in float64, 0 for a party without rows."""
    exponent = binary_exponent(*data)
    norms = []
    for rows in data:
        largest = 0.0
        for block in blocks(*rows.shape):
            scaled = np.ldexp(rows[block], -exponent)
            largest = max(largest, float(np.sqrt((scaled * scaled).sum(axis=1)).max()))
        with np.errstate(over="ignore"):
            norms.append(float(np.ldexp(largest, exponent)))
    return norms


def check_bound(bound: Any, data: Sequence[FloatArray]) -> float:
    """The public bound on a row's norm: the given one, or the largest norm in the data."""
    norms = largest_norms(data)
    if bound is None:
        if not np.isfinite(max(norms)):
            raise ValueError("the largest row norm exceeds the range of float64; rescale the data")
        return max(norms)
    if isinstance(bound, bool) or not isinstance(bound, (int, float, np.integer, np.floating)):
        raise TypeError(f"bound must be a number or None, got {bound!r}")
    limit = float(bound)
    if not (np.isfinite(limit) and limit >= 0):
        raise ValueError(f"bound must be finite and not negative, got {bound}")
    for index, norm in enumerate(norms):
        if norm > limit:
            raise ValueError(f"party {index} has a row whose Euclidean norm exceeds bound={limit}")
    return limit


def scale_exponent(bound: float, precision: int) -> int:
    """E = precision - ceil(log2 bound), exact; E = precision for bound 0. The scale is 2^E."""
    if bound == 0:
        return precision
    mantissa, exponent = np.frexp(bound)  # bound = mantissa 2^exponent, 1/2 <= mantissa < 1
    return precision - (int(exponent) - 1 if mantissa == 0.5 else int(exponent))


def check_step(step: Any, bound: float, data: Sequence[FloatArray]) -> Fraction:
    """The decimal number that a step is written as; ValueError if values are more than 2^-50 bound off it."""
    if isinstance(step, bool) or not isinstance(step, (int, float, np.integer, np.floating)):
        raise TypeError(f"step must be a number or None, got {step!r}")
    if not (np.isfinite(step) and step > 0 and bound <= 2.0**44 * float(step)):
        raise ValueError(f"step must be above 0, and at least 2^-44 of the bound {bound}, got {step}")
    unit = Fraction(str(float(step)))
    for index, rows in enumerate(data):
        quotients = rows / float(step)
        if (np.abs(quotients - np.rint(quotients)) > 2.0**-50 * (bound / float(step))).any():
            raise ValueError(f"party {index} has a value that is no multiple of step={step}")
    return unit


def quantise(data: Sequence[FloatArray], unit: Fraction) -> FloatArray:
    """Pool of all parties over the unit, rounded to the nearest whole number, halves to even.

    The magnitude is at most 2^precision for rows within the bound. Entries beyond float64 are inf.
    """
    pool, (above, below) = np.concatenate(data), unit.as_integer_ratio()
    with np.errstate(over="ignore"):
        if above.bit_count() == below.bit_count() == 1:  # a power of two, beyond float64 maybe
            np.ldexp(pool, below.bit_length() - above.bit_length(), out=pool)
        else:
            pool /= float(unit)
    np.rint(pool, out=pool)
    return pool
