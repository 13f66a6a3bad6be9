"""The inertia in whole numbers: by it the best of several starts is found, and so many bits of it are opened.

Inertias of two starts have different denominators. So the sums of D of each set are weighted by rounded
reciprocals of the squared size of the set. Every disclosure uses this rule, because shares and masked
distances can be added up by it too. Sizes are sums of weights if rows have weights.
"""

from collections.abc import Sequence
from fractions import Fraction

from secfc.field.array_types import Ints, Objects

SCORE = 16
"""Spare bits of the reciprocals by which starts are compared: scores are within one in 2**15."""

INERTIA = 24
"""Spare bits of the reciprocals of an inertia that is opened: it is within one in 2**23 before that."""

KEPT = 25
"""Bits of an inertia that are opened: the first that is 1, and those after it."""

NEAR = 128
"""A start is near the best if its score is at most one part in NEAR larger."""

_LEADING = 14
"""Bits of a size whose reciprocal is looked up; the others change it linearly."""


def score_bits(m: int, spare: int = SCORE) -> int:
    """b, the bits of a reciprocal: each is above 2**spare - 1, and more so above 2**14 rows.

    There one row more changes it little, and a whole number tells how much only if it has more bits.
    """
    return 2 * m.bit_length() + spare + max(0, m.bit_length() - _LEADING)


def looked_up(m: int) -> list[int]:
    """The sizes up to m, ascending, that have at most `_LEADING` bits before their zeros."""
    found, step = list(range(1, min(m, 1 << _LEADING) + 1)), 2
    while found[-1] + step <= m:
        found += range(found[-1] + step, min(m, 2 * found[-1]) + 1, step)
        step *= 2
    return found


def steep(size: int, bits: int) -> int:
    """What one more adds to the reciprocal of a size that is looked up: -2**(b + 1) / size**3, rounded."""
    return (size**3 - (4 << bits)) // (2 * size**3) if size >= 1 << _LEADING else 0


def reciprocal(size: int, m: int, spare: int = SCORE) -> int:
    """The factor of a set: about 2**b / size**2, and 0 for an empty one.

    It is floor(2**b / t**2) - round(2**(b + 1) / t**3) (size - t), where t are the first 14 bits of the size.
    This is off by at most 1, and above 2**14 by at most 3 in 2**26 more.
    """
    if not size:
        return 0
    bits, zeros = score_bits(m, spare), max(0, size.bit_length() - _LEADING)
    first = size >> zeros << zeros
    return (1 << bits) // first**2 + steep(first, bits) * (size - first)


def score(sums: Sequence[int] | Objects, sizes: Ints, m: int, spare: int = SCORE) -> int:
    """The sum over h of c_h times the sum of D over the rows of h, about 2**b times the inertia.

    `sums` has one sum for each label. `sizes` has the sizes of the sets whose means the distances are to. m
    is the number of all rows, or their weight.
    """
    return sum(reciprocal(int(size), m, spare) * int(one) for size, one in zip(sizes, sums, strict=True))


def most_score(m: int, square: int, spare: int = SCORE) -> int:
    """The largest score of rows of weight m whose squared distances are at most `square` on average."""
    bits = score_bits(m, spare)
    return m * square * ((1 << bits) + (1 << bits - spare))


def first_bits(score: int) -> int:
    """A score with zeros after its first `KEPT` bits: what is opened of it."""
    zeros = max(0, score.bit_length() - KEPT)
    return score >> zeros << zeros


def inertia_of(score: int, m: int) -> Fraction:
    """The inertia, in squared quantised units, of a score with `INERTIA` spare bits."""
    return Fraction(score, 1 << score_bits(m, INERTIA))
