"""A run with disclosure "coded" from shared rows to labels: the coordinator decodes and assigns.

Its starts are not those of `secfc.kmeans.program`, where everybody learns the best of each k. Here the
coordinator alone knows how well starts fit, and tells the best of all at the end.
"""

from collections import defaultdict
from collections.abc import Callable, Generator

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Labels
from secfc.kmeans.clustering import SearchResult, suitability
from secfc.kmeans.in_range import RangeCheck
from secfc.kmeans.program import fewest_moved, lloyd
from secfc.operations.decoding.agreed import agreed, told_best
from secfc.operations.decoding.coded import Coded, OnIteration
from secfc.operations.decoding.distances import Distances, OnRound
from secfc.operations.ending.best import plain_best
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.party import COORDINATOR, Party
from secfc.sharing.rows import Rows


class _Bests:
    """The coordinator's: the best start of each k so far, and its number; and the scores of all."""

    def __init__(self) -> None:
        self.scores = defaultdict[int, list[int]](list)
        self.starts: dict[int, int] = {}
        self.results: dict[int, SearchResult] = {}

    def take(self, number: int, found: SearchResult, rounds: Distances) -> None:
        """Keep the start with the least score of its k, the first of equals."""
        self.scores[found.k].append(found.score)
        best = self.results.get(found.k)
        if best is None or found.score < best.score:
            assert rounds.assigned is not None
            # k = 1 comes first
            rounds.assigned.describe(found, self.results[1].inertia if 1 in self.results else None)
            self.results[found.k], self.starts[found.k] = found, number

    def chosen(self, compared: tuple[int, ...]) -> tuple[int, list[SearchResult]]:
        """Of several k that with the greatest silhouette, the least of equals; and the results of all.

        Results say how many starts are about as good, where there are several.
        """
        found = [one for k, one in self.results.items() if not compared or k in compared]
        for one in found:
            if len(self.scores[one.k]) > 1:
                one.best = plain_best(self.scores[one.k])
        return max(found, key=suitability).k, found


def coded_run(
    me: Party,
    job: Job,
    layout: Layout,
    rows: Rows,
    first_sets: Callable[[int], Labels],
    *,
    on_round: OnRound,
    on_iteration: OnIteration,
) -> Generator[None, None, tuple[SearchResult, list[SearchResult]]]:
    """The best result, and at the coordinator the results of all k.

    `first_sets` gives those of the next start, of so many sets. For `on_round` see `Distances`, for
    `on_iteration` `Coded`.
    """
    method, starts, rounds = job.method, job.method.starts, _rounds(me, job, layout, rows, on_round)
    fewest = fewest_moved(method.tol_moved, layout.m)
    every, bests = list[SearchResult](), _Bests()
    for number, k in enumerate(starts):
        run = Coded(
            rounds,
            first_sets(k),
            k,
            separate=method.init == "separation",
            on_iteration=on_iteration,
        )
        ended = yield from lloyd(run, k=k, max_iter=method.max_iter, fewest=fewest)
        every.append(run.result(ended))
        if me.number == COORDINATOR:
            bests.take(number, every[-1], rounds)
    best, found = None, list[SearchResult]()
    if me.number == COORDINATOR:
        k, found = bests.chosen(method.compared)
        best = bests.starts[k], job.in_data_units(bests.results[k].inertia)
    number, inertia = yield from told_best(me, len(starts), best)
    yield from agreed(me)
    every[number].opened = inertia
    return every[number], found


def coded_prediction(
    me: Party, job: Job, layout: Layout, rows: Rows, start: Labels, *, on_round: OnRound
) -> Generator[None, None, SearchResult]:
    """Start labels, and for each row whose label is -1 that of the nearest mean of the others.

    CheatError if the coordinator tells other labels of rows that have one.
    """
    rounds = _rounds(me, job, layout, rows, on_round)
    labels = yield from rounds.labels(start, job.k, lambda found: np.where(start < 0, found.labels, start))
    if (labels != start)[start >= 0].any():
        raise CheatError("the server told other labels than those that were given", code=Code.BAD_MESSAGE)
    yield from agreed(me)
    result = SearchResult(start=start, labels=labels, k=job.k, converged=True)
    if rounds.assigned is not None:
        result.near_ties = rounds.assigned.near_ties
    return result


def _rounds(me: Party, job: Job, layout: Layout, rows: Rows, on_round: OnRound) -> Distances:
    return Distances(
        me,
        rows,
        job.k,
        radius=job.radius,
        within=RangeCheck(radius=job.radius, layout=layout, max_liars=job.max_liars),
        compared=bool(job.method.compared),
        on_round=on_round,
    )
