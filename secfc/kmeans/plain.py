"""The operations in the clear: with them the program is an oracle."""

from collections.abc import Generator, Sequence

from secfc.field.array_types import Ints, Labels, Objects
from secfc.kmeans.program import Means, Summed
from secfc.operations.nearest import plain_nearest, plain_pairs
from secfc.operations.refill import plain_refilled
from secfc.operations.sums import PlainSums, plain_full, plain_moved_below, plain_sums


class PublicSets:
    """The operations that nobody computes securely where sets are public labels, shape (m,)."""

    def __init__(self, start: Labels, k: int) -> None:
        self._start, self._k = start, k

    def start(self) -> Generator[None, None, Labels]:
        """See `Operations.start`."""
        return self._start
        yield

    def _summed(self, means: Means, sets: Labels, before: Labels | None) -> Summed[Means]:
        same = None if before is None else plain_moved_below(before, sets, [1])[0]
        return Summed(means=means, full=plain_full(sets, self._k), same=same)

    def moved_below(
        self, before: Labels, after: Labels, limits: list[int]
    ) -> Generator[None, None, tuple[bool, ...]]:
        """See `Operations.moved_below`."""
        return plain_moved_below(before, after, limits)
        yield


class Plain(PublicSets):
    """Operations on quantised rows, shape (m, d). Weights and sets, which are labels, have shape (m,)."""

    def __init__(self, rows: Objects, start: Labels, weights: Ints, k: int) -> None:
        super().__init__(start, k)
        self._rows, self._weights = rows, weights

    def means(self, sets: Labels, before: Labels | None) -> Generator[None, None, Summed[PlainSums]]:
        """See `Operations.means`."""
        full = plain_full(sets, self._k)
        return self._summed(plain_sums(self._rows, sets, full, self._weights, k=self._k), sets, before)
        yield

    def nearest(self, means: PlainSums) -> Generator[None, None, Labels]:
        """See `Operations.nearest`."""
        return plain_nearest(plain_pairs(self._rows, means), means.full, m=len(self._rows))
        yield

    def refill(
        self, labels: Labels, means: PlainSums, empty: Sequence[int]
    ) -> Generator[None, None, tuple[Labels, bool]]:
        """See `Operations.refill`."""
        return plain_refilled(self._rows, labels, means, empty)
        yield
