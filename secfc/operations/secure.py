"""The operations of a party, and its starts on the same shared rows: nobody learns a label but its owner."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

import numpy as np

from secfc.field.array_types import Ints
from secfc.kmeans.program import Best, Ended, Summed
from secfc.kmeans.score import INERTIA, SCORE, most_score
from secfc.operations.beginning.plus_plus import DrawnRows
from secfc.operations.ending.best import best_start
from secfc.operations.ending.fit import scores_of
from secfc.operations.ending.inertia import opened_first_bits
from secfc.operations.nearest import nearest
from secfc.operations.reduction import norms_of
from secfc.operations.refill import refilled
from secfc.operations.sums import Sums, moved_below, summed
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared, joined


class Secure:
    """Operations on shared rows. Sets are shared one-hot, shape (k, m), but those of rows that are drawn.

    `start` makes the first sets, and `weights`, shape (m,), are public.
    `on_round` is told each round before it begins, counted from 1: rounds ask for the nearest means.
    """

    def __init__(
        self,
        me: Party,
        rows: Rows,
        start: Generator[None, None, Shared],
        weights: Ints,
        k: int,
        *,
        on_round: Callable[[int], None] = lambda number: None,
    ) -> None:
        self._me, self._rows, self._start, self._weights, self._k = me, rows, start, weights, k
        self._on_round = on_round

    def start(self) -> Generator[None, None, Shared]:
        """See `Operations.start`."""
        return (yield from self._start)

    def means(self, sets: Shared, before: Shared | None) -> Generator[None, None, Summed[Sums]]:
        """See `Operations.means`. Of rows that are drawn none moves if these are all, and no set is empty."""
        if isinstance(sets, DrawnRows):
            ones = self._me.public(np.ones(self._k, dtype=np.int64))
            sums = Sums(sums=sets, sizes=ones, full=tuple(range(self._k)))
            return Summed(means=sums, full=sums.full, same=None)
        drawn = isinstance(before, DrawnRows)
        asked = None if drawn else before
        sums, same = yield from summed(self._me, sets, self._rows, self._weights, asked)
        return Summed(means=sums, full=sums.full, same=len(sums.full) == self._rows.m if drawn else same)

    def nearest(self, means: Sums) -> Generator[None, None, Shared]:
        """See `Operations.nearest`."""
        self._me.round += 1
        self._on_round(self._me.round)
        return (yield from nearest(self._me, means, self._rows, k=self._k))

    def refill(
        self, labels: Shared, means: Sums, empty: Sequence[int]
    ) -> Generator[None, None, tuple[Shared, bool]]:
        """See `Operations.refill`."""
        return (yield from refilled(self._me, labels, means, self._rows, empty))

    def moved_below(
        self, before: Shared, after: Shared, limits: list[int]
    ) -> Generator[None, None, tuple[bool, ...]]:
        """See `Operations.moved_below`."""
        return (yield from moved_below(self._me, before, after, limits))


def first_prime_of(sets: Shared) -> Shared:
    """[b] modulo the first prime, without the memory of other residues."""
    residues = None if sets.residues is None else sets.residues[:1].copy()
    return Shared(sets.primes[:1], sets.shape, residues)


class SecureStarts:
    """See `secfc.kmeans.program.Starts`.

    A fit is [X] with the spare bits of a score, of an inertia, or both.

    `next_start` gives the operations of the next start with so many clusters. A start's score is needed if it
    `compares` starts, and its inertia if it `opens` that of the best. `radius` bounds the norm of a row.
    Where sums over final sets are opened, these are kept `whole`.
    """

    def __init__(
        self,
        me: Party,
        rows: Rows,
        weights: Ints,
        next_start: Callable[[int], Secure],
        *,
        radius: int,
        compares: bool,
        opens: bool,
        whole: bool = False,
    ) -> None:
        self._me, self._rows, self._weights, self._next = me, rows, weights, next_start
        self._radius = radius
        self._spares = [spare for spare, needed in ((SCORE, compares), (INERTIA, opens)) if needed]
        self._whole = whole

    def begin(self, k: int) -> Secure:
        """See `Starts.begin`."""
        return self._next(k)

    def fit(self, ended: Ended[Shared, Sums]) -> Generator[None, None, Shared]:
        """See `Starts.fit`."""
        me, rows = self._me, self._rows
        norms = yield from norms_of(me, rows)
        return (yield from scores_of(me, ended.labels, ended.means, rows, norms, self._weights, self._spares))

    def stored(self, ended: Ended[Shared, Sums]) -> Ended[Shared, Sums]:
        """See `Starts.stored`: if not `whole`, labels modulo the prime modulo which owners open them."""
        if self._whole:
            return ended
        return replace(ended, labels=first_prime_of(ended.labels))

    def best(self, fits: Sequence[Shared]) -> Generator[None, None, Best]:
        """See `Starts.best`."""
        return (yield from best_start(self._me, joined([one[:1] for one in fits], 0)))

    def opened(self, fits: Sequence[Shared]) -> Generator[None, None, list[int]]:
        """See `Starts.opened`."""
        most = most_score(int(self._weights.sum()), self._radius**2, INERTIA)
        return (yield from opened_first_bits(self._me, [one[-1:] for one in fits], most=most))
