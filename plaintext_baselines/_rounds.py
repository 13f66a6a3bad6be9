"""Lloyd's iteration for any arithmetic.

*Sets* are an assignment of rows to clusters whose means are the next centres: one int64 per row of the pool,
-1 for a row in no set. Labels (the argmin of a round) are the sets before empty clusters are relocated. An
:class:`Arithmetic` computes distances and means.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from plaintext_baselines._arrays import BoolArray, IntArray

Centres = TypeVar("Centres")


@dataclass(frozen=True)
class NearestCentres:
    """Every row's nearest centre. Ties go to the lowest cluster, and an empty cluster is never chosen.

    Only the arithmetic that made the squared `distances` knows their form.
    """

    labels: IntArray
    distances: Any


class Arithmetic(Protocol[Centres]):
    """Rows of the pool and the five operations of k-means on them."""

    n_clusters: int

    def means(self, sets: IntArray) -> Centres:
        """Means of the sets. An empty set gives a centre that is never chosen."""

    def assign(self, centres: Centres) -> NearestCentres:
        """Nearest centre of every row."""

    def inertia(self, centres: Centres, assignment: NearestCentres) -> float:
        """Sum of the squared distances of `assignment`, in the data's units."""

    def farthest(self, centres: Centres, assignment: NearestCentres, count: int) -> list[int]:
        """The `count` rows farthest from their own centre, farthest first, ties by the lowest row.

        Empty if even the farthest row lies on its centre.
        """

    def separated(self, centres: Centres, assignment: NearestCentres) -> BoolArray:
        """Whether each row is at most 1/3 as far from its own centre as from every other existing centre."""


@dataclass(frozen=True)
class Rounds(Generic[Centres]):
    """Result of :func:`run_rounds`. `assignment` was computed from `centres`."""

    assignment: NearestCentres
    centres: Centres
    inertia: float
    history: list[float]
    converged: bool


def relocate(arithmetic: Arithmetic[Centres], centres: Centres, assignment: NearestCentres) -> IntArray:
    """Give each empty cluster one of the rows farthest from their own centres, as scikit-learn does.

    Empty clusters get rows in ascending order; scikit-learn promises no order of rows. A cluster that loses
    its only row stays empty in this round.
    """
    sizes = np.bincount(assignment.labels, minlength=arithmetic.n_clusters)
    empty = np.flatnonzero(sizes == 0)
    if not len(empty):
        return assignment.labels
    sets = assignment.labels.copy()
    for cluster, row in zip(empty, arithmetic.farthest(centres, assignment, len(empty)), strict=False):
        sets[row] = cluster
    return sets


def run_rounds(
    arithmetic: Arithmetic[Centres],
    centres: Centres,
    max_iter: int,
    sets: IntArray | None = None,
    settled: Callable[[Centres, Centres], bool] | None = None,
    tol_moved: Fraction = Fraction(0),
) -> Rounds[Centres]:
    """Iterate until two rounds in a row give equal labels, or the next centres are means of the same sets.

    The order of the tests is that of scikit-learn's ``_kmeans_single_lloyd``. `centres` are those for the
    first round's labels: the means of `sets`, if these are given. If the labels still change in round
    `max_iter`, one more assignment follows, so that the labels match the last centres; it does not count.
    ``settled(old, new)`` may end the iteration because the centres hardly moved. So does a round in which
    fewer labels changed than the fraction `tol_moved`, below 1.
    """
    history: list[float] = []
    previous: IntArray | None = None
    stopped = False
    for _ in range(max_iter):
        assignment = arithmetic.assign(centres)
        history.append(arithmetic.inertia(centres, assignment))
        if previous is not None and np.array_equal(assignment.labels, previous):
            return Rounds(assignment, centres, history[-1], history, True)
        moved = relocate(arithmetic, centres, assignment)
        if sets is not None and np.array_equal(moved, sets):
            return Rounds(assignment, centres, history[-1], history, True)
        sets, following = moved, arithmetic.means(moved)
        stopped = settled is not None and settled(centres, following)
        if previous is not None:
            changed = int((assignment.labels != previous).sum())
            stopped = stopped or changed < tol_moved * len(previous)
        centres = following
        if stopped:
            break
        previous = assignment.labels
    assignment = arithmetic.assign(centres)
    return Rounds(assignment, centres, arithmetic.inertia(centres, assignment), history, stopped)
