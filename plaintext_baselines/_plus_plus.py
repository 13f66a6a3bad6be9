"""Greedy k-means++ in exact integers. SecFC's "k-means++" must reproduce its centres.

Arthur, Vassilvitskii: *k-means++: the advantages of careful seeding*, SODA 2007, with several candidates per
step as in scikit-learn. Nothing is rounded: squared distances and their sums are Python integers.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from plaintext_baselines._arrays import IntArray, Integers

# Random bytes of a draw: probabilities are multiples of 2^-32, with an error below that.
DRAW_BYTES = 4


def plus_plus_rows(
    distances_from: Callable[[int], Integers],
    n_rows: int,
    n_clusters: int,
    random_state: Any,
    weights: IntArray | None = None,
) -> list[int]:
    """Choose rows as first centres. ``distances_from(row)`` gives the squared distances of all rows to one.

    A row is drawn by a whole number r below 2^32: it is the first one up to which a sum is more than r / 2^32
    of the sum of all rows. The first row is drawn by weights, 1 each by default. Then 2 + floor(ln
    n_clusters) rows (at most n_clusters) are drawn by their squared distance to the nearest centre so far,
    times their weight. The one that lowers the sum of these most becomes a centre; ties go to the first
    drawn. If that sum is 0, the last row is chosen, which may be a centre already.

    Each r is one of two random numbers xor the other, those of all draws before the others.
    """
    rng = np.random.default_rng(random_state)
    n_candidates = min(n_clusters, 2 + int(math.log(n_clusters)))
    n_draws = 1 + (n_clusters - 1) * n_candidates
    halves = [rng.bytes(DRAW_BYTES * n_draws) for _ in range(2)]
    randoms = [
        int.from_bytes(one[at : at + DRAW_BYTES], "big") ^ int.from_bytes(other[at : at + DRAW_BYTES], "big")
        for one, other in [halves]
        for at in range(0, len(one), DRAW_BYTES)
    ]
    times = np.array([1] * n_rows if weights is None else weights.tolist(), dtype=object)

    def drawn(amounts: Integers, random: int) -> int:
        sums = np.cumsum(amounts)
        bound = sums[-1] * random // 2 ** (8 * DRAW_BYTES)
        return min(n_rows - 1, int(np.searchsorted(sums, bound, side="right")))

    chosen = [drawn(times, randoms.pop(0))]
    closest = times * distances_from(chosen[0])
    while len(chosen) < n_clusters:
        candidates = [drawn(closest, randoms.pop(0)) for _ in range(n_candidates)]
        nearer = {row: np.minimum(closest, times * distances_from(row)) for row in dict.fromkeys(candidates)}
        best = min(nearer, key=lambda row: nearer[row].sum())  # ties go to the first drawn
        chosen.append(best)
        closest = nearer[best]
    return chosen
