"""The program in the clear with the lies of one party that compares."""

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from secfc.field.array_types import Labels, Objects
from secfc.kmeans.plain import Plain
from secfc.kmeans.program import Ended, Full, Summed, lloyd
from secfc.operations.nearest import pairs_of, plain_nearest, plain_pairs
from secfc.operations.sums import PlainSums


class Lied(Plain):
    """Operations in the clear, of quantised rows, shape (m, d). By default nobody lies.

    `round` is the present one.
    """

    def __init__(self, rows: Objects, start: Labels, k: int) -> None:
        super().__init__(rows, start, np.ones(len(rows), dtype=np.int64), k)
        self._more: Objects = np.zeros((k, len(rows)), dtype=object)
        self.rows, self.m, self.k, self.round = rows, len(rows), k, 0

    def run(self, *, max_iter: int = 300) -> Ended[Labels, PlainSums]:
        """The result."""
        try:
            next(lloyd(self, k=self.k, max_iter=max_iter, fewest=1))
        except StopIteration as end:
            ended: Ended[Labels, PlainSums] = end.value
        return ended

    def moved(self, means: PlainSums) -> Objects | int:
        """The dealer or first evaluator: what it adds to u of pairs, shape (pairs, m)."""
        return 0

    def more(self) -> Objects:
        """An evaluator: how many times more each row is to count in each set, shape (k, m)."""
        return np.zeros((self.k, self.m), dtype=object)

    def means(self, sets: Labels, before: Labels | None) -> Generator[None, None, Summed[PlainSums]]:
        """See `Operations.means`."""
        found, more = (yield from super().means(sets, before)), self.more()
        of, same = found.means, found.same and bool((more == self._more).all())
        self._more = more
        sums, sizes = of.sums + more.dot(self.rows), of.sizes + more.sum(axis=1)
        return replace(found, same=same, means=PlainSums(sums=sums, sizes=sizes, full=of.full))

    def nearest(self, means: PlainSums) -> Generator[None, None, Labels]:
        """See `Operations.nearest`."""
        self.round += 1
        return plain_nearest(plain_pairs(self.rows, means) + self.moved(means), means.full, m=self.m)
        yield

    def sent(self, ranks: Objects, full: Full) -> Objects:
        """What sends each row to the set of the lowest rank; ranks have shape (k, m)."""
        most = self.m**4 * self.rows.shape[1] * (int(abs(self.rows).max()) + 1) ** 2  # > |u|
        return np.array([(ranks[b] - ranks[a]) * most for a, b in pairs_of(full)])
