"""Lloyd's iteration.

*Sets* are an assignment of rows to clusters whose means are the next centres: one int64 per row of the pool,
-1 for a row in no set. Labels (the argmin of a round) are the sets before empty clusters are relocated.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from plaintext_baselines._arrays import IntArray
from plaintext_baselines._exact import Centres, ExactRows
from plaintext_baselines._floats import NearestCentres


@dataclass(frozen=True)
class Rounds:
    """Result of :func:`run_rounds`. `assignment` was computed from `centres`."""

    assignment: NearestCentres
    centres: Centres
    inertia: float
    history: list[float]
    converged: bool


def relocate(arithmetic: ExactRows, centres: Centres, assignment: NearestCentres) -> IntArray:
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
    arithmetic: ExactRows,
    centres: Centres,
    max_iter: int,
    sets: IntArray | None = None,
    tol_moved: Fraction = Fraction(0),
) -> Rounds:
    """Iterate until two rounds in a row give equal labels, or the next centres are means of the same sets.

    The order of the tests is that of scikit-learn's ``_kmeans_single_lloyd``. `centres` are those for the
    first round's labels: the means of `sets`, if these are given. If the labels still change in round
    `max_iter`, one more assignment follows, so that the labels match the last centres; it does not count.
    A round in which fewer labels changed than the fraction `tol_moved`, below 1, ends the iteration.
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
        sets, centres = moved, arithmetic.means(moved)
        if previous is not None:
            changed = int((assignment.labels != previous).sum())
            stopped = changed < tol_moved * len(previous)
        if stopped:
            break
        previous = assignment.labels
    assignment = arithmetic.assign(centres)
    return Rounds(assignment, centres, arithmetic.inertia(centres, assignment), history, stopped)
