"""Whether every set has no rows of others than a recipient, or enough, before anything of it is opened.

A row counts as often as its weight, in units of the heaviest row of others in the set. Opens one bit for each
recipient, to everybody. It does not say which set has too few rows, nor how many: from the sums over the
other sets, and totals of all rows, a recipient would have those of a set that is left out.
"""

from collections.abc import Generator

import numpy as np

from secfc.field.array_types import Ints, Labels
from secfc.kmeans.sets import rows_hidden_among
from secfc.operations.opening import nonzero
from secfc.operations.reduction import reduced
from secfc.operations.under_masks import negative
from secfc.protocol.parties.party import Party
from secfc.sharing.shared import Shared, joined


def plain_lacking(sets: Labels, k: int, weights: Ints, own: dict[int, slice], least: int) -> list[int]:
    """The recipients for whom a set has rows of others, but fewer than `least`. `own` are each one's rows."""
    lacking = []
    for recipient, rows in own.items():
        others = sets.copy()
        others[rows] = -1
        sizes = rows_hidden_among(others, k, weights)
        if ((sizes > 0) & (sizes < least)).any():
            lacking.append(recipient)
    return lacking


def lacking(
    me: Party, sets: Shared, weights: Ints, own: dict[int, slice], least: int
) -> Generator[None, None, list[int]]:
    """The same of shared sets, shape (k, m). Nothing is computed or opened if `least` is 1.

    A set W_h with c_hv rows of weight v lacks rows if W_h < least v for a v with c_hv > 0. So what is
    compared with 0 is the sum of [W_h < least v] c_hv over sets and weights.
    """
    own = {one: rows for one, rows in own.items() if rows.stop - rows.start < weights.size}
    if least == 1 or not own:
        return []
    found = [_others(sets, weights, rows, least) for rows in own.values()]
    sizes = [apart.size for apart, _ in found]
    apart, below = joined([one for one, _ in found], 0), list[Shared]()
    for start in range(0, apart.size, weights.size):
        below.append((yield from negative(me, apart[start : start + weights.size])))
    wrong = joined(below, 0) * joined([counts for _, counts in found], 0)
    ends = np.cumsum(sizes).tolist()
    sums = [wrong[end - size : end].sum(0).reshape(1) for size, end in zip(sizes, ends, strict=True)]
    some = yield from nonzero(me, (yield from reduced(me, joined(sums, 0))))
    return [recipient for recipient, one in zip(own, some.tolist(), strict=True) if one]


def _others(sets: Shared, weights: Ints, own: slice, least: int) -> tuple[Shared, Shared]:
    """W_h - least v and c_hv of all sets and weights v of others' rows, both of shape (sets * weights,)."""
    others = np.ones(weights.size, dtype=np.bool_)
    others[own] = False
    values = np.unique(weights[others])
    counts = [sets[:, others & (weights == value)].sum(1) for value in values]
    total, most = counts[0] * int(values[0]), int(weights.sum()) + 1
    for count, value in zip(counts[1:], values[1:], strict=True):
        total = total + count * int(value)
    apart = [total - min(least * int(value), most) for value in values]
    return joined(apart, 0), joined(counts, 0)
