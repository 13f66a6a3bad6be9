"""The operations of a party with disclosure "coded", on public labels, shape (m,).

Opens what `secfc.operations.decoding.distances` says: distances to the coordinator, labels to everybody.
"""

from collections.abc import Callable, Generator, Sequence
from fractions import Fraction

import numpy as np

from secfc.field.array_types import Labels
from secfc.kmeans.clustering import SearchResult
from secfc.kmeans.plain import PublicSets
from secfc.kmeans.program import Ended, Summed
from secfc.operations.decoding.assigned import Assigned
from secfc.operations.decoding.distances import Distances, tell, told

OnIteration = Callable[[int, int, Fraction | None], None]


class Coded(PublicSets):
    """Operations of one start from `start`. With `separate` its sets are first reduced to their cores.

    Means are public sets. `on_iteration` is told each assignment's number, from 1, how many rows moved, and
    at the coordinator the inertia.
    """

    def __init__(
        self,
        distances: Distances,
        start: Labels,
        k: int,
        *,
        separate: bool = False,
        on_iteration: OnIteration = lambda number, moved, inertia: None,
    ) -> None:
        super().__init__(start, k)
        self._distances, self._separate, self._on_iteration = distances, separate, on_iteration
        self._first, self._iterations = start, 0
        self._previous: Labels | None = None
        self._history: list[Fraction] = []  # at the coordinator: the inertia of each assignment
        self._near_ties = 0

    def start(self) -> Generator[None, None, Labels]:
        """See `Operations.start`. By separation: the paper, section 5."""
        if self._separate:
            rounds, k = self._distances, self._k
            sets = yield from rounds.labels(self._start, k, Assigned.relocated)
            self._first = yield from rounds.labels(sets, k, Assigned.separated, core=True)
        return self._first

    def means(self, sets: Labels, before: Labels | None) -> Generator[None, None, Summed[Labels]]:
        """See `Operations.means`."""
        return self._summed(sets, sets, before)
        yield

    def nearest(self, means: Labels) -> Generator[None, None, Labels]:
        """See `Operations.nearest`."""
        labels = yield from self._distances.labels(means, self._k, lambda found: found.labels)
        found = self._distances.assigned
        if found is not None:
            self._history.append(found.inertia)
            self._near_ties += found.near_ties
        self._iterations += 1
        inertia = self._history[-1] if self._history else None
        self._on_iteration(self._iterations, self._moved(means, labels), inertia)
        self._previous = labels
        return labels

    def refill(
        self, labels: Labels, means: Labels, empty: Sequence[int]
    ) -> Generator[None, None, tuple[Labels, bool]]:
        """See `Operations.refill`."""
        me, found = self._distances.me, self._distances.assigned
        halves = [told(me, labels.size, self._k)]
        if found is not None:
            halves.append(tell(me, found.relocated(), self._k))
        (sets, *_) = yield from me.together(halves)
        return sets, not np.array_equal(sets, labels)

    def result(self, ended: Ended[Labels, Labels]) -> SearchResult:
        """How the start ended. Inertias, the score and near ties are the coordinator's."""
        run = SearchResult(
            start=self._first, labels=ended.labels, k=self._k, n_iter=ended.n_iter, converged=ended.converged
        )
        found = self._distances.assigned
        if found is not None:
            run.inertia, run.score, run.near_ties = self._history[-1], found.score, self._near_ties
            run.history = self._history[: ended.n_iter]
        return run

    def _moved(self, means: Labels, labels: Labels) -> int:
        """Rows whose label changed; in the first iteration all, unless no set changes."""
        if self._previous is None:
            return 0 if np.array_equal(means, labels) else labels.size
        return int(np.count_nonzero(self._previous != labels))
