"""Lloyd's iterations, and several starts of them, as one program over operations. It names no party.

Every party runs it. What happens next depends only on what all parties learn, so nobody decides it.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from fractions import Fraction
from math import ceil
from typing import Generic, Protocol, TypeVar

Sets = TypeVar("Sets")
Means = TypeVar("Means")
Fit = TypeVar("Fit")

Full = tuple[int, ...]
"""The numbers of the sets that have rows, in ascending order. Everybody learns them."""


class Change(Enum):
    """What an iteration changed, as far as all parties learn."""

    NOTHING = auto()
    FEW = auto()
    MUCH = auto()


class Operations(Protocol, Generic[Sets, Means]):
    """What the program needs. Each is a generator, because a party may wait in it for others."""

    def start(self) -> Generator[None, None, Sets]:
        """The first sets."""

    def means(self, sets: Sets, before: Sets | None) -> Generator[None, None, "Summed[Means]"]:
        """The means of sets, which have rows, and whether they are what they were before."""

    def nearest(self, means: Means) -> Generator[None, None, Sets]:
        """The sets of the rows by their nearest mean, ties to the lowest number."""

    def refill(
        self, labels: Sets, means: Means, empty: Sequence[int]
    ) -> Generator[None, None, tuple[Sets, bool]]:
        """The farthest rows moved to empty sets, and whether any was."""

    def moved_below(
        self, before: Sets, after: Sets, limits: list[int]
    ) -> Generator[None, None, tuple[bool, ...]]:
        """Whether fewer rows are in other sets than each of the limits."""


@dataclass(frozen=True, kw_only=True)
class Summed(Generic[Means]):
    """The means of sets. `full` are those that have rows, and `same` says whether no row has moved.

    `same` is None if it was not asked.
    """

    means: Means
    full: Full
    same: bool | None


@dataclass(frozen=True, kw_only=True)
class Ended(Generic[Sets, Means]):
    """The final labels, the means to which they are nearest, and how many iterations led to them.

    `full` are the sets that have rows, before the last assignment if one followed the iterations. `converged`
    is False if only `max_iter` ended them.
    """

    labels: Sets
    means: Means
    full: Full
    n_iter: int
    converged: bool


def fewest_moved(tol_moved: float, m: int) -> int:
    """The fewest changed labels after which another iteration follows: ⌈tol_moved · m⌉, at least 1.

    `tol_moved` counts as its decimal number: 0.1 of 30 rows are 3, although the float 0.1 is larger.
    """
    return max(1, ceil(Fraction(repr(tol_moved)) * m))


def lloyd(
    run: Operations[Sets, Means], *, k: int, max_iter: int, fewest: int
) -> Generator[None, None, Ended[Sets, Means]]:
    """Iterate until no set changes, fewer than `fewest` labels change, or `max_iter` iterations are made.

    If sets still changed, one more assignment follows.
    """
    sets = yield from run.start()
    of = yield from run.means(sets, None)
    before, change, n_iter = None, Change.MUCH, 0
    while change is Change.MUCH and n_iter < max_iter:
        n_iter += 1
        labels = yield from run.nearest(of.means)
        # Rows have moved if a set is empty that was not. If it was, nobody asks before others move to it.
        asked, sets, means, known = sets, labels, of.means, len(of.full) == k
        of = yield from run.means(labels, asked if known else None)
        if len(of.full) < k:
            sets, refilled = yield from run.refill(labels, means, [h for h in range(k) if h not in of.full])
            of = (yield from run.means(sets, asked if known else None)) if refilled else of
        change = yield from _change(run, asked, sets, before, labels, fewest, of.same)
        before = asked = labels  # so that nothing holds the sets that were asked while others follow
    if change is not Change.NOTHING:
        means = of.means
        labels = yield from run.nearest(means)
    converged = change is not Change.MUCH
    return Ended(labels=labels, means=means, full=of.full, n_iter=n_iter, converged=converged)


def _change(
    run: Operations[Sets, Means],
    asked: Sets,
    sets: Sets,
    before: Sets | None,
    labels: Sets,
    fewest: int,
    same: bool | None,
) -> Generator[None, None, Change]:
    """`before` are the labels of the iteration before; the first has none, and changes much or nothing.

    `same` says whether `sets` are `asked`, if it is known.
    """
    if same is None:
        (same,) = yield from run.moved_below(asked, sets, [1])
    if same:
        return Change.NOTHING
    if before is None:
        return Change.MUCH
    if before is not asked or labels is not sets:  # rows have moved to empty sets
        unmoved, few = yield from run.moved_below(before, labels, [1, fewest])
        return Change.NOTHING if unmoved else Change.FEW if few else Change.MUCH
    if fewest == 1:
        return Change.MUCH
    (few,) = yield from run.moved_below(before, labels, [fewest])
    return Change.FEW if few else Change.MUCH


@dataclass(frozen=True, kw_only=True)
class Best:
    """Which start is the best, how many have the same score, and how many are near it, itself among both."""

    number: int
    equal: int
    near: int


@dataclass(frozen=True, kw_only=True)
class Kept(Generic[Sets, Means]):
    """The best start with one number of clusters.

    `best` is None if it is the only start, and `opened` if no inertia is opened; else it is a score with
    `secfc.kmeans.score.INERTIA` spare bits, of which the first are opened.
    """

    k: int
    ended: Ended[Sets, Means] = field(repr=False)
    best: Best | None
    opened: int | None


class Starts(Protocol, Generic[Sets, Means, Fit]):
    """What the program needs beside the operations of each start."""

    def begin(self, k: int) -> Operations[Sets, Means]:
        """The operations of the next start, with k clusters."""

    def fit(self, ended: Ended[Sets, Means]) -> Generator[None, None, Fit]:
        """How well a start fits."""

    def stored(self, ended: Ended[Sets, Means]) -> Ended[Sets, Means]:
        """What is kept of a start while others follow."""

    def best(self, fits: Sequence[Fit]) -> Generator[None, None, Best]:
        """Which of two or more starts is the best."""

    def opened(self, fits: Sequence[Fit]) -> Generator[None, None, list[int]]:
        """The first bits of the inertia of some starts."""


def best_starts(
    run: Starts[Sets, Means, Fit],
    numbers: Sequence[int],
    *,
    max_iter: int,
    fewest: int,
    opens: bool,
) -> Generator[None, None, list[Kept[Sets, Means]]]:
    """The best start for each number of clusters. `numbers` are those of all starts, equal ones together.

    With `opens` the inertia of each best start is opened.
    """
    kept, fits = list[tuple[int, Ended[Sets, Means], Best | None]](), list[Fit]()
    for k in dict.fromkeys(numbers):
        ends, own, best = list[Ended[Sets, Means]](), list[Fit](), None
        starts = numbers.count(k)
        for _ in range(starts):
            ended = yield from lloyd(run.begin(k), k=k, max_iter=max_iter, fewest=fewest)
            if starts > 1 or opens:
                own.append((yield from run.fit(ended)))
            ends.append(run.stored(ended) if len(numbers) > 1 else ended)
        if starts > 1:
            best = yield from run.best(own)
        at = 0 if best is None else best.number
        kept.append((k, ends[at], best))
        fits += own[at : at + 1]
    inertias = (yield from run.opened(fits)) if opens else [None] * len(kept)
    return [
        Kept(k=k, ended=ended, best=best, opened=inertia)
        for (k, ended, best), inertia in zip(kept, inertias, strict=True)
    ]
