"""The operations of a party: nobody learns a label but its owner."""

from collections.abc import Callable, Generator, Sequence

from secfc.field.array_types import Ints
from secfc.kmeans.program import Summed
from secfc.operations.full import summed
from secfc.operations.nearest import nearest
from secfc.operations.refill import refilled
from secfc.operations.sums import Sums
from secfc.operations.unmoved import moved_below
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared


class Secure:
    """Operations on shared rows. Sets are shared one-hot, shape (k, m).

    `start` makes the first sets (`secfc.operations.starts`), and `weights`, shape (m,), are public.
    `on_round` is told each round before it begins, counted from 1: rounds ask for the nearest means.
    """

    def __init__(
        self,
        me: Party,
        rows: Rows,
        start: Generator[None, None, Shared],
        weights: Ints,
        k: int,
        *,
        on_round: Callable[[int], None] = lambda number: None,
    ) -> None:
        self._me, self._rows, self._start, self._weights, self._k = me, rows, start, weights, k
        self._on_round = on_round

    def start(self) -> Generator[None, None, Shared]:
        """See `Operations.start`."""
        return (yield from self._start)

    def means(self, sets: Shared, before: Shared | None) -> Generator[None, None, Summed[Sums]]:
        """See `Operations.means`."""
        sums, same = yield from summed(self._me, sets, self._rows, self._weights, before)
        return Summed(means=sums, full=sums.full, same=same)

    def nearest(self, means: Sums) -> Generator[None, None, Shared]:
        """See `Operations.nearest`."""
        self._me.round += 1
        self._on_round(self._me.round)
        return (yield from nearest(self._me, means, self._rows, k=self._k))

    def refill(
        self, labels: Shared, means: Sums, empty: Sequence[int]
    ) -> Generator[None, None, tuple[Shared, bool]]:
        """See `Operations.refill`."""
        return (yield from refilled(self._me, labels, means, self._rows, empty))

    def moved_below(
        self, before: Shared, after: Shared, limits: list[int]
    ) -> Generator[None, None, tuple[bool, ...]]:
        """See `Operations.moved_below`."""
        return (yield from moved_below(self._me, before, after, limits))
