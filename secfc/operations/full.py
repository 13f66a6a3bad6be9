"""Which sets have rows, opened to everybody, and nothing else of the sizes; also together with their sums."""

from collections.abc import Generator

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Ints, Labels
from secfc.kmeans.sets import set_sizes
from secfc.operations.nonzero import MULTIPLES, nonzero, testing
from secfc.operations.reduction import reducing
from secfc.operations.sums import Sums, products_of, sums_in
from secfc.operations.unmoved import changes
from secfc.protocol.parties.party import Party
from secfc.protocol.parties.random_sharings import random_sharings
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared


def plain_full(sets: Labels, k: int) -> tuple[int, ...]:
    """The numbers of the sets that have rows, in ascending order."""
    return tuple(np.flatnonzero(set_sizes(sets, k)).tolist())


def full_sets(me: Party, sets: Shared) -> Generator[None, None, tuple[int, ...]]:
    """The same of sets, shape (k, m). CheatError if no set has rows."""
    return _numbers((yield from nonzero(me, sets.sum(1))))


def summed(
    me: Party, sets: Shared, rows: Rows, weights: Ints, before: Shared | None
) -> Generator[None, None, tuple[Sums, bool | None]]:
    """The sums of sets, with those that have rows; and whether no row moved since `before`, if it is given.

    All of it is one step.
    """
    k, vectors = sets.shape[0], [sets.sum(1).reshape(-1, 1)]
    if before is not None:
        vectors.append(changes(me, before, sets))
    products = products_of(sets, rows, weights)
    zeros = MULTIPLES * sum(one.shape[0] for one in vectors)
    alone = MULTIPLES * sum(one.size for one in vectors)
    random = yield from random_sharings(me, twins=products.size, zeros=zeros, alone=alone)
    halves = [reducing(me, products, random), testing(me, vectors, random)]
    reduced, some = yield from me.together(halves)
    sums = sums_in(reduced, sets, rows, _numbers(some[:k]), weights)
    return sums, None if before is None else not some[k]


def _numbers(have_rows: Bools) -> tuple[int, ...]:
    if not have_rows.any():
        raise CheatError("no set has rows: a holder has sent wrong shares", code=Code.BAD_MESSAGE)
    return tuple(np.flatnonzero(have_rows).tolist())
