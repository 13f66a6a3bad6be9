"""Greedy k-means++ in exact integers. SecFC's "k-means++" must reproduce its rows.

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

    The first row is uniform. Then 2 + floor(ln n_clusters) rows (at most n_clusters) are drawn with
    probability proportional to their squared distance to the nearest centre so far. The one that lowers the
    sum of these distances most becomes a centre; ties go to the first drawn. When that sum is 0, the lowest
    rows that are not centres follow. Random numbers are taken in each step before this is checked. With
    `weights`, whole numbers from 1, distances and the first row's probability are multiplied by them.
    """
    rng = np.random.default_rng(random_state)
    n_candidates = min(n_clusters, 2 + int(math.log(n_clusters)))
    times = np.array([1] * n_rows if weights is None else weights.tolist(), dtype=object)
    up_to = np.cumsum(times)
    chosen = [int(np.searchsorted(up_to, int(rng.integers(int(up_to[-1]))), side="right"))]
    closest = times * distances_from(chosen[0])
    while len(chosen) < n_clusters:
        sums = np.cumsum(closest)
        randoms = [int.from_bytes(rng.bytes(DRAW_BYTES), "little") for _ in range(n_candidates)]
        if sums[-1] == 0:
            left = [row for row in range(n_rows) if row not in chosen]
            return chosen + left[: n_clusters - len(chosen)]
        bounds = [sums[-1] * random // 2 ** (8 * DRAW_BYTES) for random in randoms]
        candidates = [int(np.searchsorted(sums, bound, side="right")) for bound in bounds]
        nearer = {row: np.minimum(closest, times * distances_from(row)) for row in dict.fromkeys(candidates)}
        best = min(nearer, key=lambda row: nearer[row].sum())  # ties go to the first drawn
        chosen.append(best)
        closest = nearer[best]
    return chosen
