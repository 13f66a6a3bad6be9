"""Sums and sizes of sets, weighted if rows have weights; which sets have rows, and how many rows moved.

Opens to everybody which sets have rows, and nothing else of the sizes; and whether rows moved, or fewer than
given numbers.
"""

from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Ints, Labels, Objects
from secfc.kmeans.sets import set_sizes
from secfc.operations.checking.check import settled
from secfc.operations.opening import MULTIPLES, below, nonzero, testing
from secfc.operations.reduction import claiming
from secfc.protocol.parties.dealing import combined
from secfc.protocol.parties.party import Party
from secfc.protocol.parties.random_sharings import random_sharings
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared, joined


@dataclass(frozen=True, kw_only=True)
class PlainSums:
    """Sums of the rows in each set, shape (k, d), and of their weights, shape (k,), as Python integers.

    `full` are the numbers of the sets that have rows, in ascending order.
    """

    sums: Objects = field(repr=False)
    sizes: Objects = field(repr=False)
    full: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Sums:
    """Shares of the sums, shape (k, width), and of the sizes, shape (k,). `full` is public."""

    sums: Shared
    sizes: Shared
    full: tuple[int, ...]


def plain_sums(rows: Objects, sets: Labels, full: tuple[int, ...], weights: Ints, *, k: int) -> PlainSums:
    """The same of quantised rows, shape (m, d), and of public sets; a row counts as often as its weight."""
    each = weights.astype(object)
    sums = np.stack([(rows * each[:, np.newaxis])[sets == h].sum(axis=0) for h in range(k)])
    sizes = np.array([each[sets == h].sum() for h in range(k)], dtype=object)
    return PlainSums(sums=sums.astype(object), sizes=sizes, full=full)


def weighted(sets: Shared, weights: Ints) -> Shared:
    """[b], shape (k, m), of which each row counts as often as its weight."""
    return sets if (weights == 1).all() else sets * weights


def plain_full(sets: Labels, k: int) -> tuple[int, ...]:
    """The numbers of the sets that have rows, in ascending order."""
    return tuple(np.flatnonzero(set_sizes(sets, k)).tolist())


def summed(
    me: Party, sets: Shared, rows: Rows, weights: Ints, before: Shared | None
) -> Generator[None, None, tuple[Sums, bool | None]]:
    """The sums of sets, shape (k, m), with those that have rows; and whether no row moved since `before`.

    That is None if `before` is. Weights, shape (m,), are public. All of it is one step. Sets that follow from
    products are checked before: a liar that had changed them by numbers of its choice would learn which sizes
    these numbers make 0. CheatError if no set has rows.
    """
    yield from settled(me)
    k, vectors = sets.shape[0], [sets.sum(1).reshape(-1, 1)]
    if before is not None:
        vectors.append(changes(me, before, sets))
    each = weighted(sets, weights)
    products = rows.sums(each)
    zeros = MULTIPLES * sum(one.shape[0] for one in vectors)
    alone = MULTIPLES * sum(one.size for one in vectors)
    random = yield from random_sharings(me, twins=products.size, zeros=zeros, alone=alone)
    halves = [claiming(me, products, random), testing(me, vectors, random)]
    reduced, some = yield from me.together(halves)
    sums = Sums(sums=reduced, sizes=each.sum(1), full=_numbers(some[:k]))
    return sums, None if before is None else not some[k]


def _numbers(have_rows: Bools) -> tuple[int, ...]:
    if not have_rows.any():
        raise CheatError("no set has rows: a holder has sent wrong shares", code=Code.BAD_MESSAGE)
    return tuple(np.flatnonzero(have_rows).tolist())


def plain_moved_below(before: Labels, after: Labels, limits: list[int]) -> tuple[bool, ...]:
    """Whether fewer rows moved than each of the limits, 1 or more."""
    moved = int(np.count_nonzero(before != after))
    return tuple(moved < limit for limit in limits)


def moved_below(
    me: Party, before: Shared, after: Shared, limits: list[int]
) -> Generator[None, None, tuple[bool, ...]]:
    """The same of shared sets, shape (k, m), that each have every row once.

    Whether none has moved is opened without a comparison.
    """
    if max(limits) == 1:
        (some,) = yield from nonzero(me, changes(me, before, after))
        return (not some,) * len(limits)
    m = before.shape[1]
    moved = (m - (before * after).sum(1).sum(0)).reshape(1)
    return (yield from below(me, joined([moved] * len(limits), 0), limits))


def changes(me: Party, before: Shared, after: Shared) -> Shared:
    """A vector, shape (1, width), that is 0 if no row has moved.

    Else it is 0 with a probability below 2^-140. The last set counts too: rows that were drawn are alone in
    first sets, and others in none.
    """
    return combined(me, b"moved", (after.modulo_first() - before.modulo_first()).reshape(-1))


def public_sets(me: Party, labels: Labels, k: int) -> Generator[None, None, Shared]:
    """[b], shape (k, m), of public labels, shape (m,)."""
    return me.public((labels == np.arange(k)[:, np.newaxis]).astype(np.int64))
    yield
