"""Which of several starts ended best, by whole numbers that are linear in the distances.

Inertias of two starts have different denominators. Instead, the sums of D of each set are weighed by rounded
reciprocals of |S|^2. That is the rule of every disclosure: masked distances can be added up by it too.
"""

from collections.abc import Sequence

from secfc.array_types import Ints, Objects


def score_bits(m: int) -> int:
    """b, the bits of weights: twice as many as m rows take, and 8.

    |S| <= m < 2**(b / 2 - 4), so every weight is above 2**8 - 1, and rounding makes it less by one in 256
    at most.
    """
    return 2 * m.bit_length() + 8


def score_weights(sizes: Ints, m: int) -> list[int]:
    """c_h = floor(2**b / |S_h|**2) of each set, 0 of one without rows; b is `score_bits` of m rows in all."""
    one = 1 << score_bits(m)
    return [one // int(size) ** 2 if size else 0 for size in sizes]


def score(sums: Sequence[int] | Objects, sizes: Ints, m: int) -> int:
    """What starts are compared by, the least is best: the sum of c_h times the sum of D over the rows of h.

    It is 2**b times the inertia, less 1/256 of it at most. `sums` are of each label; `sizes`, of the m rows
    in all, are of the sets that the distances are to.
    """
    return sum(weight * int(one) for weight, one in zip(score_weights(sizes, m), sums, strict=True))
