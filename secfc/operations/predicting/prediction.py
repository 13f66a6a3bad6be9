"""The nearest mean of new rows. The other rows are in sets that only their owners know; the means are theirs.

Opens whether a set is too small, if a client asks for it, and which sets are empty.
"""

from collections.abc import Callable, Generator

import numpy as np

from secfc.errors import LimitError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Ints, Labels, Objects
from secfc.operations.ending.large_enough import lacking
from secfc.operations.nearest import nearest, plain_nearest, plain_pairs
from secfc.operations.predicting.given import HiddenLabels, shared_labels
from secfc.operations.sums import full_sets, plain_full, plain_sums, sums_of
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared, joined

_EVERYBODY = {0: slice(0, 0)}
"""One to whom no row belongs, so that all rows of a set count."""


def plain_prediction(rows: Objects, labels: Labels, weights: Ints, k: int) -> Labels:
    """The labels of the rows, shape (m, d), whose label is -1."""
    full, new = plain_full(labels, k), rows[labels < 0]
    means = plain_sums(rows, labels, full, weights, k=k)
    return plain_nearest(plain_pairs(new, means), full, m=len(new))


def prediction(
    me: Party,
    given: HiddenLabels,
    rows: Rows,
    new: Bools,
    weights: Ints,
    *,
    smallest: int,
    on_round: Callable[[int], None],
) -> Generator[None, None, Shared]:
    """The sets of the new rows, shape (k, new rows).

    `new` and `weights`, shape (m,), are public; `given` are the labels of the other rows. For `on_round` see
    `secfc.operations.secure.Secure`. LimitError, with nothing else opened, if a set of the other rows has
    fewer than `smallest`, but some.
    """
    labels = yield from shared_labels(me, given)
    if (yield from lacking(me, labels, weights[~new], _EVERYBODY, smallest)):
        raise LimitError(
            f"rows are predicted only from sets with {smallest} rows or more, or none; a set has fewer, and "
            "nothing was opened",
            code=Code.LIMIT_SMALLEST_SET,
        )
    sets = _of_all(me, labels, new)
    full = yield from full_sets(me, sets)
    me.round += 1
    on_round(me.round)
    means = yield from sums_of(me, sets, rows, full, weights)
    return (yield from nearest(me, means, rows.some(np.flatnonzero(new)), k=given.k))


def _of_all(me: Party, labels: Shared, new: Bools) -> Shared:
    """Sets of all rows, shape (k, m): new rows are in none."""
    k, rows = labels.shape
    places = np.where(new, rows, np.cumsum(~new) - 1)
    return joined([labels, me.public(np.zeros((k, 1), dtype=np.int64))], 1)[:, places]
