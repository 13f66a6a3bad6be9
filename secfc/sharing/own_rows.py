"""A client's own rows among those that it shares."""

import numpy as np

from secfc.field.array_types import Floats, Ints, Labels


class OwnRows:
    """Rows to share, (m_j, d), block by block, and their numbers among all rows.

    With membership privacy the numbers are any distinct ones, and all other rows are shared as zeros.
    """

    def __init__(self, rows: Floats, at: slice | Ints) -> None:
        self._rows, self._at = rows, at
        self._order = np.empty(0, dtype=np.int64) if isinstance(at, slice) else np.argsort(at)

    def block(self, rows: slice) -> Floats:
        """The rows to share with these numbers. Blocks with zeros are made again and never stored."""
        if isinstance(self._at, slice):
            return self._rows[rows.start - self._at.start : rows.stop - self._at.start]
        low, high = np.searchsorted(self._at, [rows.start, rows.stop], sorter=self._order)
        held = self._order[low:high]
        block = np.zeros((rows.stop - rows.start, self._rows.shape[1]))
        block[self._at[held] - rows.start] = self._rows[held]
        return block

    def forget(self) -> None:
        """Drop the rows, once they are shared."""
        self._rows = self._rows[:0].copy()

    def labels(self, labels: Labels) -> Labels:
        """The labels of its own rows."""
        return labels[self._at]
