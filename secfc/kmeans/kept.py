"""Distances of the round before: those to sets that did not change need not be asked for again."""

from typing import Any

import numpy as np

from secfc.array_types import Floats, Ints, Labels, Shares
from secfc.kmeans.sets import asked_about

MOST_BYTES = 1 << 28
"""Of residues that are kept. Where they take more, every round asks about all sets."""


class KeptDistances:
    """Residues of D of m rows to k sets, as the last round that was decoded whole left them.

    D_{i,h} follows from the shares and the rows of S_h alone. So a set with the same rows has the same D, and
    residues of D are the same while a round takes as many primes.
    """

    def __init__(self, m: int, k: int) -> None:
        self._m, self._k = m, k
        self._sets: Labels | None = None  # of that round
        self._residues: Shares = np.empty((0, k, m), dtype=np.float32)  # below 2**24, so exact

    def __repr__(self) -> str:
        return f"KeptDistances(shape={self._residues.shape})"

    def question(self, sets: Labels, sizes: Ints, primes: tuple[int, ...]) -> tuple[int, ...]:
        """The sets that a round about `sets`, of these sizes, has to ask for; () for all of them.

        A round that ended before it was decoded whole has changed distances to these sets alone.
        """
        count = len(primes)
        if self._sets is None or len(self._residues) != count:
            room = count if 4 * count * self._k * self._m <= MOST_BYTES else 0
            self._sets, self._residues = None, np.empty((room, self._k, self._m), dtype=np.float32)
            return ()
        moved = self._sets != sets
        changed = np.union1d(self._sets[moved], sets[moved])
        asked = changed[(changed >= 0) & (sizes[changed] > 0)]
        return () if asked.size == np.count_nonzero(sizes) else tuple(asked.tolist())

    def take(self, rows: slice, residues: Floats, asked: tuple[int, ...], sizes: Ints) -> Floats:
        """Keep residues of rows, (P, sets asked about, rows); those to all sets, which may be overwritten.

        Threads may keep those of different rows at the same time.
        """
        upto, kept = asked_about(sizes), self._residues[..., rows]
        if not asked:
            if len(kept):
                kept[:, :upto] = residues
            return residues
        kept[:, asked] = residues
        every = kept[:, :upto].astype(np.float64)
        every[:, sizes[:upto] == 0] = 0.0
        return every

    def end_round(self, sets: Labels) -> None:
        """Every row of a round about these sets is kept."""
        if len(self._residues):
            self._sets = sets.copy()

    def standing(self, asked: tuple[int, ...]) -> dict[str, Any] | None:
        """When a round has just asked for these sets: what it takes of the round before, if anything."""
        if not asked:
            return None
        others = np.setdiff1d(np.arange(self._k), asked)
        kept = self._residues[:, others].astype(np.int32)
        return {"sets": self._sets, "others": others, "kept": kept}

    def stand(self, standing: dict[str, Any] | None) -> None:
        """Stand where another stood that was made for as many rows and sets."""
        self._sets = None
        if standing is not None:
            self._sets, kept = standing["sets"], standing["kept"]
            self._residues = np.zeros((len(kept), self._k, self._m), dtype=np.float32)
            self._residues[:, standing["others"]] = kept
