"""When a start of Lloyd's search stops."""

from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction
from functools import cached_property
from math import ceil

import numpy as np

from secfc.array_types import Labels


class After(Enum):
    """What follows an iteration."""

    ITERATION = auto()
    ASSIGNMENT = auto()
    """One more, to the means of the sets that were moved last; it counts as no iteration."""
    NOTHING = auto()


@dataclass(frozen=True, kw_only=True)
class Iterated:
    """What an iteration changed.

    `moved` rows have another label; in the first iteration all, unless no set changes. `converged` is whether
    so few labels or no set changed that it was the last; False where `max_iter` alone ends it.
    """

    moved: int
    after: After
    converged: bool


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """The rule of a job."""

    m: int
    max_iter: int
    tol_moved: float

    @cached_property
    def fewest(self) -> int:
        """Rows whose label an iteration must change for another to follow: ⌈tol_moved · m⌉, at least 1.

        The fraction is the decimal number that is written: 0.1 of 30 rows are 3, though the float nearest to
        0.1 is larger.
        """
        return max(1, ceil(Fraction(repr(self.tol_moved)) * self.m))

    def after(
        self, n_iter: int, *, asked: Labels, previous: Labels | None, labels: Labels, sets: Labels
    ) -> Iterated:
        """What follows iteration `n_iter` of a start, whose centres were the means of `asked`.

        `previous` are the labels of the iteration before, None in the first. `sets` are asked about next:
        `labels`, but a cluster without one may have got a row.
        """
        fixed = np.array_equal(sets, asked)
        moved = self.m if previous is None else int(np.count_nonzero(previous != labels))
        if fixed and previous is None:
            moved = 0
        if fixed or moved == 0:
            return Iterated(moved=moved, after=After.NOTHING, converged=True)
        converged = moved < self.fewest
        after = After.ASSIGNMENT if converged or n_iter == self.max_iter else After.ITERATION
        return Iterated(moved=moved, after=after, converged=converged)
