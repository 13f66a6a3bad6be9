"""Several starts in the clear, by one that sees all rows: with them the program is an oracle."""

from collections.abc import Generator, Iterable, Sequence

from secfc.field.array_types import Ints, Labels, Objects
from secfc.kmeans.plain import Plain
from secfc.kmeans.program import Ended
from secfc.kmeans.score import INERTIA, SCORE, first_bits
from secfc.kmeans.several.best_starts import Best
from secfc.operations.ending.best import plain_best
from secfc.operations.ending.fit import plain_scores
from secfc.operations.sums import PlainSums


class PlainStarts:
    """Starts from given first sets, in order. Rows are quantised, and have weights."""

    def __init__(self, rows: Objects, firsts: Iterable[Labels], weights: Ints) -> None:
        self._rows, self._firsts, self._weights = rows, iter(firsts), weights

    def begin(self, k: int) -> Plain:
        """See `Starts.begin`."""
        return Plain(self._rows, next(self._firsts), self._weights, k)

    def fit(self, ended: Ended[Labels, PlainSums]) -> Generator[None, None, list[int]]:
        """See `Starts.fit`."""
        return plain_scores(self._rows, ended.labels, ended.means, self._weights, (SCORE, INERTIA))
        yield

    def stored(self, ended: Ended[Labels, PlainSums]) -> Ended[Labels, PlainSums]:
        """See `Starts.stored`."""
        return ended

    def best(self, fits: Sequence[list[int]]) -> Generator[None, None, Best]:
        """See `Starts.best`."""
        return plain_best([one for one, _ in fits])
        yield

    def opened(self, fits: Sequence[list[int]]) -> Generator[None, None, list[int]]:
        """See `Starts.opened`."""
        return [first_bits(one) for _, one in fits]
        yield
