"""The "k-means++" start from distances to single rows, in exact integers.

Arthur, Vassilvitskii: *k-means++: the advantages of careful seeding*, SODA 2007; the greedy variant is
scikit-learn's: several candidates a step, of which the one that lowers the potential most becomes a centre.
A question asks about candidates as sets of one row each, so that D_{i,h} is the squared distance of row i to
candidate h itself.
"""

from math import log
from typing import Any

import numpy as np

from secfc.array_types import Floats, Labels
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


class PlusPlus:
    """Chooses k rows as the first centres, question by question.

    `sets` asks about single rows; `add` takes the distances to them, and `end_round` returns whether there is
    another question. If not, `sets` has the chosen rows, row c_h alone in set h.

    Parameters
    ----------
    m, k : int
        Rows and clusters, k <= m.
    rng : numpy.random.Generator
        For public choices only.
    """

    def __init__(self, *, m: int, k: int, rng: np.random.Generator) -> None:
        self._m, self._k, self._rng = m, k, rng
        self._chosen: list[int] = []
        self._closest: Limbs | None = None  # (L, m), to the nearest chosen row
        self._asked: Limbs | None = None  # (L, candidates, m)
        self._ask([int(rng.integers(m))])

    def standing(self) -> dict[str, Any]:
        """Between two questions, what the rest depends on besides the generator."""
        return {"chosen": self._chosen, "closest": self._closest, "candidates": self._candidates}

    def stand(self, standing: dict[str, Any]) -> None:
        """Stand where another one stood."""
        self._chosen, self._closest = standing["chosen"], standing["closest"]
        self._ask(standing["candidates"])

    def _ask(self, rows: list[int]) -> None:
        self._candidates = rows
        self.sets = _alone(rows, self._m)

    def add(self, rows: slice, digits: Floats, radix: MixedRadix) -> None:
        """Take digits of some rows' squared distances to the candidates, shape (P, candidates, rows)."""
        part = limbs_of_digits(digits, radix)
        shape = (*part.shape[:2], self._m)
        if self._asked is None or self._asked.shape != shape:
            self._asked = np.empty(shape, dtype=np.uint32)
        self._asked[:, :, rows] = part

    def end_round(self) -> bool:
        """Choose the best candidate, now that all its distances are here, and draw the next candidates.

        Returns
        -------
        bool
            Whether `sets` holds another question about candidates.
        """
        assert self._asked is not None
        best = 0
        closest, potential = self._with(0), None
        for at in range(1, len(self._candidates)):
            potential = total(closest) if potential is None else potential
            other = self._with(at)
            lower = total(other)
            if lower < potential:  # of equals the first drawn stays
                best, closest, potential = at, other, lower
        self._closest = closest
        self._chosen.append(self._candidates[best])
        if len(self._chosen) < self._k and self._draw(Cumulated(closest)):
            return True
        self.sets = _alone(self._chosen, self._m)
        return False

    def _with(self, candidate: int) -> Limbs:
        """Distances to the nearest chosen row, were this candidate chosen too."""
        assert self._asked is not None
        asked: Limbs = self._asked[:, candidate]
        return asked.copy() if self._closest is None else minimum(self._closest, asked)

    def _draw(self, weights: Cumulated) -> bool:
        """Draw rows with probability proportional to their distance; False when every distance is 0.

        Then all rows coincide with chosen ones, and the lowest others fill the sets that are left.
        """
        if weights.total == 0:
            others = np.setdiff1d(np.arange(self._m), self._chosen)[: self._k - len(self._chosen)]
            self._chosen += others.tolist()
            return False
        drawn = [weights.first_above(weights.total * r >> DRAW_BITS) for r in draws(self._rng, self._k)]
        self._ask(list(dict.fromkeys(drawn)))
        return True


def _alone(rows: list[int], m: int) -> Labels:
    """Sets of one row each, the others in none."""
    sets = np.full(m, -1, dtype=np.int32)
    sets[rows] = np.arange(len(rows))
    return sets
