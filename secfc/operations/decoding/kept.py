"""Distances of the round before: those to sets that did not change need not be asked for again."""

import numpy as np

from secfc.field.array_types import Ints, Labels, Shares
from secfc.kmeans.sets import asked_about

MOST_BYTES = 1 << 28
"""Of digits that are kept. Where they take more, every round asks about all sets."""


class KeptDistances:
    """Digits of D of m rows to k sets, of the last round that was decoded whole, if they were kept.

    D_{i,h} follows from the shares and the rows of S_h alone. So a set with the same rows has the same D, and
    its digits are the same while a round takes as many primes. Keeping takes time, so they are kept in
    rounds that are about some set of the round before.
    """

    def __init__(self, m: int, k: int) -> None:
        self._m, self._k = m, k
        self._sets: Labels | None = None  # of this round
        self._keeps = False  # whether its digits are kept
        self._digits: Shares = np.empty((0, k, m), dtype=np.float32)

    def __repr__(self) -> str:
        return f"KeptDistances(shape={self._digits.shape})"

    def question(self, sets: Labels, sizes: Ints, primes: tuple[int, ...]) -> tuple[int, ...]:
        """Begin a round about `sets`, of these sizes. The sets that it has to ask for; () for all of them."""
        before, held, count = self._sets, self._keeps, len(primes)
        self._sets, self._keeps = sets.copy(), False
        if before is None or 4 * count * self._k * self._m > MOST_BYTES:
            return ()
        moved = before != sets
        old, new = (np.bincount(one[moved] + 1, minlength=sizes.size + 1)[1:] for one in (before, sets))
        asked = np.flatnonzero((old + new > 0) & (sizes > 0))
        if asked.size == np.count_nonzero(sizes):
            return ()
        self._keeps = True
        if held and len(self._digits) == count:
            return tuple(asked.tolist())
        if len(self._digits) != count:
            # Zeros, because nobody answers about empty sets at the end.
            self._digits = np.zeros((count, self._k, self._m), dtype=np.float32)
        return ()

    def take(self, rows: slice, digits: Shares, asked: tuple[int, ...], sizes: Ints) -> Shares:
        """Take digits of rows, (P, sets asked about, rows); those to all sets.

        Threads may bring different rows at the same time.
        """
        if not self._keeps:
            return digits
        kept = self._digits[..., rows]
        if not asked:
            kept[:, : asked_about(sizes)] = digits
            return digits
        kept[:, asked] = digits
        return np.ascontiguousarray(kept[:, : asked_about(sizes)])
