"""The nearest mean of new rows. The other rows are in sets that only their owners know; the means are theirs.

Labels are taken before rows. An owner proves its rows only after all comparers have tossed a coin, and they
toss none before they have the labels of all owners. So nobody is lost between its rows and its labels.

Opens whether a set is too small, if a client asks for it, and which sets are empty.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from secfc.errors import LimitError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Ints, Labels, Objects
from secfc.operations.ending.large_enough import lacking
from secfc.operations.nearest import nearest, plain_nearest, plain_pairs
from secfc.operations.predicting.given import HiddenLabels, hidden_labels, shared_labels
from secfc.operations.sums import plain_full, plain_sums, summed
from secfc.operations.to_owners import to_owners
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared, joined

_EVERYBODY = {0: slice(0, 0)}
"""One to whom no row belongs, so that all rows of a set count."""


@dataclass(frozen=True, kw_only=True)
class GivenLabels:
    """The labels of the rows that have one, and the public marks of all rows.

    `own` are the labels of a party's own rows. A new row has the mark and the label -1, others the mark 0.
    """

    own: Labels | None = field(repr=False)
    marks: Labels = field(repr=False)
    labels: HiddenLabels

    @property
    def new(self) -> Bools:
        """Which rows are new."""
        found: Bools = self.marks < 0
        return found


def given_labels(
    me: Party, layout: Layout, k: int, *, marks: Labels, own: Labels | None
) -> Generator[None, None, GivenLabels]:
    """Take what each party gives beside its rows."""
    counts = {j: int((marks[layout.rows(j)] == 0).sum()) for j in me.roles.holders}
    counts = {j: count for j, count in counts.items() if count}
    labels = yield from hidden_labels(me, None if own is None else own[own >= 0], counts, k)
    return GivenLabels(own=own, marks=marks, labels=labels)


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
    means, _ = yield from summed(me, _of_all(me, labels, new), rows, weights, None)
    me.round += 1
    on_round(me.round)
    return (yield from nearest(me, means, rows.some(np.flatnonzero(new)), k=given.k))


def predicted(
    me: Party,
    layout: Layout,
    rows: Rows,
    given: GivenLabels,
    weights: Ints,
    *,
    smallest: int,
    on_round: Callable[[int], None],
) -> Generator[None, None, Labels | None]:
    """The labels of a party's own rows: those that it gave, and those of its new rows.

    For `smallest` and errors see `prediction`.
    """
    new = given.new
    sets = yield from prediction(me, given.labels, rows, new, weights, smallest=smallest, on_round=on_round)
    ends = np.cumsum([0, *(int(new[layout.rows(j)].sum()) for j in me.roles.holders)]).tolist()
    owned = {j: slice(a, b) for j, (a, b) in enumerate(pairwise(ends), 1) if a < b}
    found = yield from to_owners(me, sets, owned)
    if given.own is None:
        return None
    labels = given.own.copy()
    if found is not None:
        labels[labels < 0] = found
    return labels


def _of_all(me: Party, labels: Shared, new: Bools) -> Shared:
    """Sets of all rows, shape (k, m): new rows are in none."""
    k, rows = labels.shape
    places = np.where(new, rows, np.cumsum(~new) - 1)
    return joined([labels, me.public(np.zeros((k, 1), dtype=np.int64))], 1)[:, places]
