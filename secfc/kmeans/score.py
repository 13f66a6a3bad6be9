"""Scores that tell which of several starts ended best: whole numbers that are linear in the distances.

Inertias of two starts have different denominators. A score weights the sums of D of each set by rounded
reciprocals of |S|^2 instead. Every disclosure uses this rule: masked distances can be added up by it too.
"""

from collections.abc import Sequence

from secfc.field.array_types import Ints, Objects


def score_bits(m: int) -> int:
    """b, the bits of a weight: twice the bits of m, plus 8.

    |S| <= m < 2**(b / 2 - 4), so every weight is above 2**8 - 1, and rounding lowers it by at most 1/256.
    """
    return 2 * m.bit_length() + 8


def score_weights(sizes: Ints, m: int) -> list[int]:
    """c_h = floor(2**b / |S_h|**2) for each set, 0 for an empty one; b is `score_bits` of all m rows."""
    one = 1 << score_bits(m)
    return [one // int(size) ** 2 if size else 0 for size in sizes]


def score(sums: Sequence[int] | Objects, sizes: Ints, m: int) -> int:
    """The score of a start: the sum over h of c_h times the sum of D over the rows of h. Less is better.

    It is 2**b times the inertia, lower by at most 1/256 of that. `sums` has one sum for each label. `sizes`
    has the sizes of the sets whose means the distances are to. m is the number of all rows.
    """
    return sum(weight * int(one) for weight, one in zip(score_weights(sizes, m), sums, strict=True))
