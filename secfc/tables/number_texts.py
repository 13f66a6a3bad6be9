"""Numbers as text."""

from decimal import Decimal
from math import isfinite

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LEAST = -6
"""The least power of ten of the first digit of a number that is written out; `number_text` has the most."""


def number_text(value: float, digits: int, *, most: int = 9) -> str:
    """A number rounded to so many digits: 520,400 or 0.00001234, and 1.234×10¹⁵ where that is too long."""
    if not isfinite(value):
        return f"{value:g}"
    rounded = Decimal(f"{value:.{digits - 1}e}").normalize()
    power = rounded.adjusted()
    if not rounded or _LEAST <= power <= most:
        return f"{rounded + 0:,f}"
    return f"{rounded.scaleb(-power):f}×10{str(power).translate(_RAISED)}"


def starts_text(starts: int, equal: int, near: int) -> str:
    """How many of several starts are about as good as the best."""
    return f"the best of {starts} starts: {equal} with its inertia, {near} within 1 % of it"


def bytes_text(count: int) -> str:
    """A count of bytes, with a decimal unit."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"
