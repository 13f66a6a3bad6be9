"""What everybody learns of the best clustering with each number of clusters, and which is the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite

from secfc.field.array_types import Labels
from secfc.kmeans.measures import calinski_harabasz
from secfc.kmeans.score import inertia_of
from secfc.kmeans.several.best_starts import Best, Kept
from secfc.operations.sums import Sums
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.sharing.shared import Shared


@dataclass(frozen=True, kw_only=True)
class Clustering:
    """The best clustering with k clusters.

    `start` are the first sets of all rows. `best` is None if there was one start. `inertia`, in the data's
    units squared, is None if it was not opened, and so is `ratio`, the Calinski-Harabasz ratio, with one k.
    """

    k: int
    start: Labels = field(repr=False)
    n_iter: int
    converged: bool
    best: Best | None = None
    inertia: float | None = None
    ratio: float | None = None


def clusterings_of(
    job: Job, layout: Layout, kept: Sequence[Kept[Shared, Sums]], firsts: Mapping[int, Sequence[Labels]]
) -> tuple[Clustering, ...]:
    """Those of the numbers of clusters that the job asks for. `firsts` are the first sets of all starts.

    The ratio counts the clusters that had rows before the last assignment.
    """
    found = []
    total = _inertia(job, layout, kept[0])  # of one cluster, if several numbers are compared
    for one in kept:
        inertia, ratio = _inertia(job, layout, one), None
        if job.method.compared and inertia is not None and total is not None:
            ratio = calinski_harabasz(inertia, total=total, k=len(one.ended.full), m=layout.m)
        clustering = Clustering(
            k=one.k,
            start=firsts[one.k][0 if one.best is None else one.best.number],
            n_iter=one.ended.n_iter,
            converged=one.ended.converged,
            best=one.best,
            inertia=inertia,
            ratio=ratio,
        )
        if one.k in (job.method.compared or (job.k,)):
            found.append(clustering)
    return tuple(found)


def most_suitable(found: Sequence[Clustering]) -> Clustering:
    """The one with the greatest ratio, of equals the one with the fewest clusters."""
    return max(found, key=lambda one: one.ratio if one.ratio is not None and isfinite(one.ratio) else -inf)


def _inertia(job: Job, layout: Layout, one: Kept[Shared, Sums]) -> float | None:
    return None if one.opened is None else job.in_data_units(inertia_of(one.opened, layout.weight))
