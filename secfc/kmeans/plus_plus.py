"""The "k-means++" start from distances to single rows, in exact integers.

Arthur, Vassilvitskii: *k-means++: the advantages of careful seeding*, SODA 2007; the greedy variant is
scikit-learn's: several candidates a step, of which the one that lowers the potential most becomes a centre.
A question asks about candidates as sets of one row each, so that D_{i,h} is the squared distance of row i to
candidate h itself.
"""

import threading
from collections.abc import Iterable
from math import log
from typing import Any

import numpy as np

from secfc.array_types import Floats, Ints, Labels
from secfc.field.limbs import Cumulated, Limbs, limbs_of_digits, minimum, total
from secfc.field.mixed_radix import MixedRadix

DRAW_BITS = 32
"""A draw below N is floor(N r / 2**32), r uniform below 2**32: probabilities are multiples of 2**-32.

So each is off by less than 2**-32 of the whole, and a row with a smaller share of N than that may never be
drawn. With few bits [sum > N r / 2**32] can be decided of masked sums too (`secfc.comparing`).
"""


def candidates_of(k: int) -> int:
    """Candidates a step, as scikit-learn has them; at most k, so a question has room for them."""
    return min(k, 2 + int(log(k)))


def draws(rng: np.random.Generator, k: int) -> list[int]:
    """Public r, below 2**32, one for each of the next candidates."""
    return [int.from_bytes(rng.bytes(DRAW_BITS // 8), "little") for _ in range(candidates_of(k))]


def first_row(rng: np.random.Generator, m: int, weights: Ints | None) -> int:
    """The public first of m rows, drawn with probability proportional to its weight if rows have weights."""
    if weights is None:
        return int(rng.integers(m))
    sums = np.cumsum(weights)
    return int(np.searchsorted(sums, rng.integers(sums[-1]), side="right"))


class Choices:
    """The public part of a start: rows that were `chosen`, and `candidates` that are asked about; k <= m."""

    def __init__(self, *, m: int, k: int, first: int) -> None:
        self._m, self._k = m, k
        self.chosen: list[int] = []
        self.candidates = [first]

    @property
    def sets(self) -> Labels:
        """Candidates, at the end the chosen rows, alone in a set each; the other rows are in none."""
        sets = np.full(self._m, -1, dtype=np.int32)
        rows = self.candidates or self.chosen
        sets[rows] = np.arange(len(rows))
        return sets

    @property
    def last(self) -> bool:
        """Whether the best candidate is the last row to be chosen, and none are drawn after it."""
        return len(self.chosen) + 1 == self._k

    def choose(self, candidate: int, drawn: Iterable[int] = ()) -> None:
        """Choose a candidate, by its number, and ask about the rows drawn next.

        None are drawn after the last, or when all rows coincide with chosen ones: then the lowest others fill
        the sets that are left.
        """
        self.chosen.append(self.candidates[candidate])
        self.candidates = list(dict.fromkeys(drawn))
        if not self.candidates:
            others = np.setdiff1d(np.arange(self._m), self.chosen)[: self._k - len(self.chosen)]
            self.chosen += others.tolist()

    def standing(self) -> dict[str, Any]:
        """Between two questions, what the rest depends on."""
        return {"chosen": self.chosen, "candidates": self.candidates}

    def stand(self, standing: dict[str, Any]) -> None:
        """Stand where another one stood."""
        self.chosen, self.candidates = standing["chosen"], standing["candidates"]


class PlusPlus:
    """Chooses k <= m rows as the first centres, question by question.

    `sets` asks about single rows; `add` takes the distances to them, and `end_round` returns whether there is
    another question. If not, `sets` has the chosen rows, row c_h alone in set h. Random numbers are drawn
    with the question that they follow, before it is known whether a row is drawn by them. A row's distance
    counts as many times as its weight, if rows have `weights`.
    """

    def __init__(self, *, m: int, k: int, rng: np.random.Generator, weights: Ints | None = None) -> None:
        self._m, self._k, self._rng, self._weights = m, k, rng, weights
        self._choices = Choices(m=m, k=k, first=first_row(rng, m, weights))
        self._closest: Limbs | None = None  # (L, m), to the nearest chosen row
        self._lock = threading.Lock()  # of making room for what is asked
        self._asked: Limbs | None = None  # (L, candidates, m)
        self._draw()

    def _draw(self) -> None:
        self.sets = self._choices.sets
        self._draws = [] if self._choices.last else draws(self._rng, self._k)

    def standing(self) -> dict[str, Any]:
        """Between two questions, what the rest depends on besides the generator."""
        return self._choices.standing() | {"closest": self._closest, "draws": self._draws}

    def stand(self, standing: dict[str, Any]) -> None:
        """Stand where another one stood."""
        self._choices.stand(standing)
        self._closest, self._draws, self.sets = standing["closest"], standing["draws"], self._choices.sets

    def add(self, rows: slice, digits: Floats, radix: MixedRadix) -> None:
        """Take digits of some rows' squared distances to the candidates, shape (P, candidates, rows)."""
        part = limbs_of_digits(digits, radix)
        shape = (*part.shape[:2], self._m)
        with self._lock:
            if self._asked is None or self._asked.shape != shape:
                self._asked = np.empty(shape, dtype=np.uint32)
            asked = self._asked
        asked[:, :, rows] = part

    def end_round(self) -> bool:
        """Choose the best candidate, and draw the next; whether `sets` asks about candidates again."""
        assert self._asked is not None
        best = 0
        closest, potential = self._with(0), None
        for at in range(1, len(self._choices.candidates)):
            potential = total(closest, self._weights) if potential is None else potential
            other = self._with(at)
            lower = total(other, self._weights)
            if lower < potential:  # of equals the first drawn stays
                best, closest, potential = at, other, lower
        self._closest = closest
        self._choices.choose(best, self._drawn(closest) if self._draws else ())
        if self._choices.candidates:
            self._draw()
            return True
        self.sets = self._choices.sets
        return False

    def _with(self, candidate: int) -> Limbs:
        """Distances to the nearest chosen row, were this candidate chosen too."""
        assert self._asked is not None
        asked: Limbs = self._asked[:, candidate]
        return asked.copy() if self._closest is None else minimum(self._closest, asked)

    def _drawn(self, closest: Limbs) -> list[int]:
        """Rows drawn in proportion to their distance times their weight; none when every distance is 0."""
        sums = Cumulated(closest, self._weights)
        if sums.total == 0:
            return []
        return [sums.first_above(sums.total * r >> DRAW_BITS) for r in self._draws]
