"""A client's own rows among those that it shares."""

import numpy as np

from secfc.field.array_types import Floats, Ints, Labels

UNION_IS_OPEN = (
    ". Before you repeat the run without that client: the union of the new run would show how many rows "
    "that client held, and somebody who can guess IDs would learn which"
)
"""A warning for whoever wants to repeat a run with membership privacy without one of its clients."""


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
        held, places = self.among(rows)
        block = np.zeros((rows.stop - rows.start, self._rows.shape[1]))
        block[places] = self._rows[held]
        return block

    def among(self, rows: slice) -> tuple[Ints, Ints]:
        """Which of its own rows have one of these numbers, and the places of these numbers."""
        numbers = self.numbers
        low, high = np.searchsorted(numbers, [rows.start, rows.stop], sorter=self._order)
        held = self._order[low:high]
        return held, numbers[held] - rows.start

    @property
    def numbers(self) -> Ints:
        """The numbers of its own rows, with membership privacy."""
        assert not isinstance(self._at, slice)
        return self._at

    def forget(self) -> None:
        """Drop the rows, once they are shared."""
        self._rows = self._rows[:0].copy()

    def labels(self, labels: Labels) -> Labels:
        """The labels of its own rows."""
        return labels[self._at]
