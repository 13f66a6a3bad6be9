"""Several starts, for one number of clusters or for several, as one program over operations.

Like `secfc.kmeans.program` it names no party, and what happens next depends only on what all parties learn.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from secfc.kmeans.program import Ended, Means, Operations, Sets, lloyd

Fit = TypeVar("Fit")


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
