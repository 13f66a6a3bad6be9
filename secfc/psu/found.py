"""The union that was found: for every table, the poles in each bin. Rows are numbered in that order."""

from dataclasses import dataclass, field

import numpy as np

from secfc.field.array_types import Bools, Ints
from secfc.psu.plan import UnionTable
from secfc.psu.prime import Elements, P
from secfc.psu.tokens import Tokens

OVERFULL = -1


@dataclass(frozen=True, kw_only=True)
class Found:
    """The contents of a table.

    `counts`, shape (bins,), are the numbers of poles in each bin. -1 means an overfull bin, whose IDs go to
    the next table. `poles`, shape (sum of counts,), are ordered by bin and ascending in each.
    """

    counts: Ints = field(repr=False)
    poles: Elements = field(repr=False)

    def fault(self, table: UnionTable) -> str | None:
        """What is wrong with received contents, or None."""
        if self.counts.shape != (table.bins,):
            return f"{self.counts.size} bins, the table has {table.bins}"
        if self.counts.size and not OVERFULL <= self.counts.min() <= self.counts.max() <= table.capacity:
            return f"a bin of {self.counts.max()} IDs, at most {table.capacity} are found in one"
        if self.poles.size != self.total:
            return f"{self.poles.size} poles, the bins have {self.total}"
        if self.poles.size and not (self.poles.min() >= 1 and self.poles.max() < P):
            return "a pole outside the field"
        bins = np.repeat(np.arange(table.bins), np.maximum(self.counts, 0))
        if ((np.diff(bins) == 0) & (self.poles[1:] <= self.poles[:-1])).any():
            return "poles of a bin that do not ascend"
        return None

    @property
    def total(self) -> int:
        """The number of IDs found."""
        return int(np.maximum(self.counts, 0).sum())

    @property
    def overfull(self) -> int:
        """The number of overfull bins."""
        return int((self.counts == OVERFULL).sum())

    def locate(self, table: UnionTable, tokens: Tokens) -> tuple[Ints, Bools]:
        """The row of each token in this table, -1 if it is missing, and whether its bin was overfull."""
        bins, poles = table.places(tokens)
        ends = np.cumsum(np.maximum(self.counts, 0))
        stop = ends[bins]
        low = stop - np.maximum(self.counts, 0)[bins]
        high = stop.copy()
        while (low < high).any():  # binary search in every bin at once
            middle = (low + high) >> 1
            at = np.minimum(middle, self.poles.size - 1)
            below = (low < high) & (self.poles[at] < poles)
            low, high = np.where(below, middle + 1, low), np.where(below | (low >= high), high, middle)
        hit = low < stop
        hit[hit] = self.poles[low[hit]] == poles[hit]
        return np.where(hit, low, -1), self.counts[bins] == OVERFULL
