"""The public part of a "k-means++" start: draws, candidates and chosen rows.

Arthur, Vassilvitskii: *k-means++: the advantages of careful seeding*, SODA 2007. The greedy variant is
scikit-learn's: each step draws several candidates, and the one that lowers the potential most is the centre.
In a question each candidate is a set of one row, so D_{i,h} is the squared distance of row i to candidate h.
"""

from math import log

import numpy as np

DRAW_BITS = 32
"""A draw below N is floor(N r / 2**32), r uniform below 2**32: probabilities are multiples of 2**-32.

So the error of each probability is below 2**-32, and a row whose part of N is smaller may never be drawn.
With few bits, [sum > N r / 2**32] can also be decided on masked sums (`secfc.operations`).
"""


def candidates_of(k: int) -> int:
    """Candidates in each step, as in scikit-learn, but at most k, the number of sets in a question."""
    return min(k, 2 + int(log(k)))


def draws(rng: np.random.Generator, k: int) -> list[int]:
    """Public random r below 2**32, one for each of the next candidates."""
    return [int.from_bytes(rng.bytes(DRAW_BITS // 8), "little") for _ in range(candidates_of(k))]
