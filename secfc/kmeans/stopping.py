"""When a start of Lloyd's search stops."""

from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction
from functools import cached_property
from math import ceil

import numpy as np

from secfc.field.array_types import Labels


class After(Enum):
    """What follows an iteration."""

    ITERATION = auto()
    ASSIGNMENT = auto()
    """One more assignment, to the means of the sets moved last. It does not count as an iteration."""
    NOTHING = auto()


@dataclass(frozen=True, kw_only=True)
class Iterated:
    """What an iteration changed.

    `moved` is the number of rows whose label changed. In the first iteration it is all rows, unless no set
    changes. `converged` says whether the start ends because no set or too few labels changed. It is False if
    only `max_iter` ends it.
    """

    moved: int
    after: After
    converged: bool


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """The stopping rule of a job."""

    m: int
    max_iter: int
    tol_moved: float

    @cached_property
    def fewest(self) -> int:
        """The fewest changed labels after which another iteration follows: ⌈tol_moved · m⌉, at least 1.

        `tol_moved` counts as its decimal number: 0.1 of 30 rows are 3, although the float 0.1 is larger.
        """
        return max(1, ceil(Fraction(repr(self.tol_moved)) * self.m))

    def after(
        self, n_iter: int, *, asked: Labels, previous: Labels | None, labels: Labels, sets: Labels
    ) -> Iterated:
        """What follows iteration `n_iter` of a start, whose centres were the means of `asked`.

        `previous` are the labels of the iteration before, None in the first. `sets` are the next sets:
        `labels` after relocation of rows to empty clusters.
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
