"""Attack r: the dealer or the first evaluator lies. It sees which sets are empty in each round.

Runs are in the clear, with lies that real parties can tell (`tests/bench/test_privacy_own.py`). The dealer
deals for other masks, or the first evaluator passes on other masked values. So it sends rows to sets, or
compares them with numbers. In one round k - 1 sets have own rows alone. In the next one all rows go to the
first set, but k - 2 rows of others go to a set each if they are above a number in a column. Then everybody is
told which sets are empty.
"""

from collections.abc import Generator, Iterator

import numpy as np

from benchmarks.privacy.own_labels import BOUND, job_of
from benchmarks.privacy.rows import OF_RANGE, AttackRow
from secfc.field.array_types import Floats, Labels, Objects
from secfc.kmeans.program import Summed
from secfc.operations.nearest import pairs_of
from secfc.operations.sums import PlainSums
from tests.support.lied import Lied

_UNIT = 2.0**-20


class Bits(Lied):  # type: ignore[misc]
    """The lies. `found` are others' first k - 2 rows after each round that tells something."""

    def __init__(self, others: Floats, k: int, bits: int) -> None:
        d = others.shape[1]
        own = np.concatenate([np.zeros((1, d)), np.repeat(np.eye(d), k - 2, axis=0) * BOUND / 2])
        rows = np.rint(np.concatenate([own, others]) / _UNIT).astype(np.int64).astype(object)
        super().__init__(rows, np.arange(len(rows), dtype=np.int32) % k, k)
        self.count, self.found = len(own), list[tuple[int, Floats]]()
        self._bits, self._turn, self._asks, self._asked = bits * d, 0, False, False
        self._slots, most = np.arange(1, k - 1), round(BOUND / _UNIT)
        self._low: Objects = np.full((k - 2, d), -most, dtype=object)
        self._width = [2 * most] * d

    def moved(self, means: PlainSums) -> Objects:
        """See `Lied.moved`."""
        axis, homes = self._turn % len(self._width), np.zeros(self.m, dtype=np.int32)
        whole = len(means.full) == self.k and self._turn < self._bits  # after these, the run ends
        self._asked, self._asks = self._asks and whole, not self._asks and whole
        if not self._asked:
            homes[1:] = self.k - 1
            homes[axis * (self.k - 2) + self._slots] = self._slots
        ranks, least = (homes != np.arange(self.k)[:, np.newaxis]).astype(object), {}
        for slot in self._slots.tolist() if self._asked else []:
            row, size, along = self.count + slot - 1, means.sizes[slot], means.sums[slot][axis]
            middle = self._low[slot - 1, axis] + self._width[axis] // 2
            ranks[slot, row], least[slot] = 0, means.sizes[0] ** 2 * (along**2 - 2 * size * along * middle)
        moved: Objects = self.sent(ranks, means.full)
        for slot, one in least.items():
            moved[pairs_of(means.full).index((0, slot)), self.count + slot - 1] = -one
        return moved

    def means(self, sets: Labels, before: Labels | None) -> Generator[None, None, Summed[PlainSums]]:
        """See `Operations.means`. After a comparison it tells a bit of each row, by which sets are empty."""
        found: Summed[PlainSums] = yield from super().means(sets, before)
        if self._asked:
            axis, self._asked = self._turn % len(self._width), False
            self._width[axis] //= 2
            self._low[:, axis] += self._width[axis] * np.isin(self._slots, found.full).astype(object)
            self.found.append((self.round, (self._low + np.array(self._width) / 2).astype(float) * _UNIT))
            self._turn += 1
        return found


def by_rounds(*, others: int, k: int, d: int, bits: int, seed: int) -> Iterator[AttackRow]:
    """Attack r: the largest error of k - 2 rows of others, by rounds."""
    true = np.random.default_rng(seed).normal(size=(others, d))
    liar = Bits(true, k, bits)
    liar.run()
    for rounds, found in liar.found[d - 1 :: d]:
        yield OF_RANGE.row(
            np.abs(found - true[: k - 2]).max() / np.ptp(true),
            job=job_of(d, k),
            m=liar.m,
            attack="r-rounds",
            adversary="dealer that lies",
            against="own labels",
            swept=f"k={k}, d={d}, rounds",
            value=rounds,
            note=f"{k - 2} rows at once",
        )
