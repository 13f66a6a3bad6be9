"""The "k-means++" start from distances to single rows, in exact integers.

Arthur, Vassilvitskii: *k-means++: the advantages of careful seeding*, SODA 2007. The greedy variant is
scikit-learn's: each step draws several candidates, and the one that lowers the potential most is the centre.
In a question each candidate is a set of one row, so D_{i,h} is the squared distance of row i to candidate h.
"""

import threading
from collections.abc import Iterable
from math import log
from typing import Any

import numpy as np

from secfc.array_types import Ints, Labels, Shares
from secfc.field.limbs import Cumulated, Limbs, limbs_of_digits, minimum, total
from secfc.field.mixed_radix import MixedRadix

DRAW_BITS = 32
"""A draw below N is floor(N r / 2**32), r uniform below 2**32: probabilities are multiples of 2**-32.

So the error of each probability is below 2**-32, and a row whose part of N is smaller may never be drawn.
With few bits, [sum > N r / 2**32] can also be decided on masked sums (`secfc.comparing`).
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


class PlusPlus:
    """Chooses k <= m rows as the first centres, question by question.

    `sets` has the candidates as single rows. `add` takes the distances to them, and `end_round` returns
    whether another question follows. If not, `sets` has the chosen rows, row c_h alone in set h. The random
    numbers for the next candidates are drawn together with the current question, even if they turn out to
    draw no row. If rows have `weights`, each distance is multiplied by the weight of its row.
    """

    def __init__(self, *, m: int, k: int, rng: np.random.Generator, weights: Ints | None = None) -> None:
        self._m, self._k, self._rng, self._weights = m, k, rng, weights
        self._choices = Choices(m=m, k=k, first=first_row(rng, m, weights))
        self._closest: Limbs | None = None  # (L, m), to the nearest chosen row
        self._lock = threading.Lock()  # for allocating `_asked`
        self._asked: Limbs | None = None  # (L, candidates, m)
        self._draw()

    def _draw(self) -> None:
        self.sets = self._choices.sets
        self._draws = [] if self._choices.last else draws(self._rng, self._k)

    def standing(self) -> dict[str, Any]:
        """The state between two questions, without the generator."""
        return self._choices.standing() | {"closest": self._closest, "draws": self._draws}

    def stand(self, standing: dict[str, Any]) -> None:
        """Restore such a state."""
        self._choices.stand(standing)
        self._closest, self._draws, self.sets = standing["closest"], standing["draws"], self._choices.sets

    def add(self, rows: slice, digits: Shares, radix: MixedRadix) -> None:
        """Add digits of some rows' squared distances to the candidates, shape (P, candidates, rows)."""
        part = limbs_of_digits(digits, radix)
        shape = (*part.shape[:2], self._m)
        with self._lock:
            if self._asked is None or self._asked.shape != shape:
                self._asked = np.empty(shape, dtype=np.uint32)
            asked = self._asked
        asked[:, :, rows] = part

    def end_round(self) -> bool:
        """Choose the best candidate and draw the next ones. Returns whether `sets` has candidates again."""
        assert self._asked is not None
        best = 0
        closest, potential = self._with(0), None
        for at in range(1, len(self._choices.candidates)):
            potential = total(closest, self._weights) if potential is None else potential
            other = self._with(at)
            lower = total(other, self._weights)
            if lower < potential:  # ties go to the candidate drawn first
                best, closest, potential = at, other, lower
        self._closest = closest
        self._choices.choose(best, self._drawn(closest) if self._draws else ())
        if self._choices.candidates:
            self._draw()
            return True
        self.sets = self._choices.sets
        return False

    def _with(self, candidate: int) -> Limbs:
        """Distances to the nearest chosen row if this candidate is chosen too."""
        assert self._asked is not None
        asked: Limbs = self._asked[:, candidate]
        return asked.copy() if self._closest is None else minimum(self._closest, asked)

    def _drawn(self, closest: Limbs) -> list[int]:
        """Rows drawn with probability proportional to distance times weight; none if all distances are 0."""
        sums = Cumulated(closest, self._weights)
        if sums.total == 0:
            return []
        return [sums.first_above(sums.total * r >> DRAW_BITS) for r in self._draws]
