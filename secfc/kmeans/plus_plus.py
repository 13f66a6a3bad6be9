"""What a start by k-means++ draws (`secfc.operations.starts.plus_plus`)."""

from math import log

DRAW_BITS = 32
"""A draw below N is floor(N r / 2**32), r uniform below 2**32: probabilities are multiples of 2**-32.

So the error of each probability is below 2**-32, and a row whose part of N is smaller may never be drawn.
With few bits, [sum > N r / 2**32] can also be decided on masked sums (`secfc.operations`).
"""


def candidates_of(k: int) -> int:
    """Candidates in each step, as in scikit-learn, but at most k."""
    return min(k, 2 + int(log(k)))
