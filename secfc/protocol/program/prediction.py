"""The parts of a run that only a prediction has.

Labels are taken before rows. An owner proves its rows only after all comparers have tossed a coin, and they
toss none before they have the labels of all owners. So nobody is lost between its rows and its labels.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from secfc.field.array_types import Bools, Ints, Labels
from secfc.operations.predicting.given import HiddenLabels, hidden_labels
from secfc.operations.predicting.prediction import prediction
from secfc.operations.to_owners import to_owners
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows


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
