"""Rows for empty sets: each, in ascending order, gets the row that is farthest from its own mean.

Rows are taken farthest first, ties by the row's number. If even the farthest row lies on its mean, no row
moves. Opens whether that is so, and nothing else: the outcomes of a tournament of pairs stay shared.
"""

from collections.abc import Generator, Sequence
from fractions import Fraction

import numpy as np

from secfc.field.array_types import Labels, Objects
from secfc.operations.opening import below
from secfc.operations.reduction import norms_of, reduced
from secfc.operations.sums import PlainSums, Sums
from secfc.operations.under_masks import negative
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared, joined


def plain_refilled(rows: Objects, labels: Labels, of: PlainSums, empty: Sequence[int]) -> tuple[Labels, bool]:
    """The sets after the farthest rows moved to the empty ones, and whether any has."""
    sets = labels.copy()
    farness = [
        Fraction(((of.sums[h] - of.sizes[h] * row) ** 2).sum(), of.sizes[h] ** 2)
        for row, h in zip(rows, labels.tolist(), strict=True)
    ]
    if not any(farness):
        return sets, False
    farthest = sorted(range(len(farness)), key=lambda i: -farness[i])  # stable: ties by the row's number
    for h, row in zip(empty, farthest, strict=False):
        sets[row] = h
    return sets, True


def refilled(
    me: Party, labels: Shared, of: Sums, rows: Rows, empty: Sequence[int]
) -> Generator[None, None, tuple[Shared, bool]]:
    """The sets, shape (k, m), after rows have moved, and whether any has.

    `labels`, shape (k, m), are the nearest sets; `of` are the sums to whose means they are.
    """
    distances, weights = yield from _own_distances(me, labels, of, rows)
    sets = [labels[h : h + 1] for h in range(labels.shape[0])]
    taken = None
    for h in empty:
        farthest, chosen = yield from _farthest(me, distances, weights)
        if taken is None and not all((yield from below(me, 0 - farthest, [0]))):
            return labels, False
        # Its distance becomes -1, which is below that of every other row: sets with rows are none of `empty`.
        distances = distances - (yield from reduced(me, (distances + me.constant([1])) * chosen))
        taken = chosen if taken is None else taken + chosen
        sets[h] = sets[h] + chosen.reshape(1, -1)
    if taken is None:
        return labels, False
    return joined(sets, 0) - (yield from reduced(me, labels * taken)), True


def _own_distances(
    me: Party, labels: Shared, of: Sums, rows: Rows
) -> Generator[None, None, tuple[Shared, Shared]]:
    """For each row, of its own set: |s - n f|^2, whose segments are to be added up, and n^2; shapes (m,)."""
    sizes = of.sizes.reshape(-1, 1)
    width = rows.width
    norms = (of.sums * of.sums).sum(1).reshape(-1, 1)
    of_sets = yield from reduced(me, joined([sizes * of.sums, norms, sizes * sizes], 1))
    of_rows = yield from norms_of(me, rows)
    scaled, norms, squares = of_sets[:, :width], of_sets[:, width : width + 1], of_sets[:, width + 1 :]
    distances = yield from reduced(me, squares @ of_rows.reshape(1, -1) - rows.product(scaled * 2) + norms)
    own = [(labels * distances).sum(0), (labels * squares).sum(0)]
    found = (yield from reduced(me, joined(own, 0))).reshape(2, -1)
    return found[0], found[1]


def _farthest(me: Party, distances: Shared, weights: Shared) -> Generator[None, None, tuple[Shared, Shared]]:
    """The largest distance, shape (1,), and which row has it, one-hot, shape (m,).

    Neighbours meet. The later one goes on only if it is strictly farther, so ties go to the lower number.
    """
    outcomes: list[Shared] = []
    while distances.size > 1:
        pairs = distances.size // 2
        first, second = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
        apart = distances[first] * weights[second] - distances[second] * weights[first]
        later = yield from negative(me, apart, later=True)
        both = [distances, weights]
        changes = [(one[second] - one[first]) * later for one in both]
        added = yield from reduced(me, joined(changes, 0))
        distances, weights = (
            joined([one[first] + part, one[2 * pairs :]], 0)
            for one, part in zip(both, (added[:pairs], added[pairs:]), strict=True)
        )
        outcomes.append(later)
    chosen = me.public(np.ones(1, dtype=np.int64))
    for later in reversed(outcomes):
        pairs = later.size
        of_later = yield from reduced(me, chosen[:pairs] * later)
        halves = [(chosen[:pairs] - of_later).reshape(-1, 1), of_later.reshape(-1, 1)]
        chosen = joined([joined(halves, 1).reshape(2 * pairs), chosen[pairs:]], 0)
    return distances, chosen
