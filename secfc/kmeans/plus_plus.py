"""The public part of a "k-means++" start: draws, candidates and chosen rows.

Arthur, Vassilvitskii: *k-means++: the advantages of careful seeding*, SODA 2007. The greedy variant is
scikit-learn's: each step draws several candidates, and the one that lowers the potential most is the centre.
In a question each candidate is a set of one row, so D_{i,h} is the squared distance of row i to candidate h.
"""

from collections.abc import Iterable
from math import log
from typing import Any

import numpy as np

from secfc.field.array_types import Ints, Labels

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


def first_row(rng: np.random.Generator, m: int, weights: Ints | None) -> int:
    """Draw the public first row of a start, with probability proportional to the weights if there are any."""
    if weights is None:
        return int(rng.integers(m))
    sums = np.cumsum(weights)
    return int(np.searchsorted(sums, rng.integers(sums[-1]), side="right"))


class Choices:
    """The public part of a start: rows already `chosen`, and the current `candidates`. k <= m."""

    def __init__(self, *, m: int, k: int, first: int) -> None:
        self._m, self._k = m, k
        self.chosen: list[int] = []
        self.candidates = [first]

    @property
    def sets(self) -> Labels:
        """The candidates, at the end the chosen rows, each alone in a set. Other rows are in no set."""
        sets = np.full(self._m, -1, dtype=np.int32)
        rows = self.candidates or self.chosen
        sets[rows] = np.arange(len(rows))
        return sets

    @property
    def last(self) -> bool:
        """Whether the next chosen row is the last one, so that no more rows are drawn."""
        return len(self.chosen) + 1 == self._k

    def choose(self, candidate: int, drawn: Iterable[int] = ()) -> None:
        """Choose a candidate by its number. The rows `drawn` are the next candidates.

        `drawn` is empty after the last choice, or if every row equals a chosen one. In the second case the
        lowest other rows fill the remaining sets.
        """
        self.chosen.append(self.candidates[candidate])
        self.candidates = list(dict.fromkeys(drawn))
        if not self.candidates:
            others = np.setdiff1d(np.arange(self._m), self.chosen)[: self._k - len(self.chosen)]
            self.chosen += others.tolist()

    def standing(self) -> dict[str, Any]:
        """The state between two questions."""
        return {"chosen": self.chosen, "candidates": self.candidates}

    def stand(self, standing: dict[str, Any]) -> None:
        """Restore such a state."""
        self.chosen, self.candidates = standing["chosen"], standing["candidates"]
