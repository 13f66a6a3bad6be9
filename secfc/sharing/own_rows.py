"""A client's own rows among those of a union."""

import numpy as np

from secfc.field.array_types import Floats, Ints

UNION_IS_OPEN = (
    ". Before you repeat the run without that client: the union of the new run would show how many rows "
    "that client held, and somebody who can guess IDs would learn which"
)
"""A warning for whoever wants to repeat a run with membership privacy without one of its clients."""


class OwnRows:
    """A client's own rows, (m_j, d), of a union, and their distinct numbers in it. Others are zeros.

    A row with the number -1 is not in the union, and is not shared.
    """

    def __init__(self, rows: Floats, numbers: Ints) -> None:
        self._rows, self.numbers, self._order = rows, numbers, np.argsort(numbers)

    def block(self, rows: slice) -> Floats:
        """The rows to share with these numbers. They are made again each time and never stored."""
        held, places = self.among(rows)
        block = np.zeros((rows.stop - rows.start, self._rows.shape[1]))
        block[places] = self._rows[held]
        return block

    def among(self, rows: slice) -> tuple[Ints, Ints]:
        """Which of its own rows have one of these numbers, and the places of these numbers."""
        low, high = np.searchsorted(self.numbers, [rows.start, rows.stop], sorter=self._order)
        held = self._order[low:high]
        return held, self.numbers[held] - rows.start

    def forget(self) -> None:
        """Drop the rows, once they are shared."""
        self._rows = self._rows[:0].copy()
