"""A run from rows to the labels of their owners, as the program that every party runs."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from secfc.field.array_types import Labels
from secfc.kmeans.program import lloyd
from secfc.kmeans.start import random_partition
from secfc.kmeans.stopping import Stopping
from secfc.operations.beginning.coin import tossed
from secfc.operations.beginning.in_range import check_range
from secfc.operations.beginning.rows import SharedRows
from secfc.operations.secure import Secure
from secfc.operations.starts.plus_plus import plus_plus
from secfc.operations.starts.public import public_sets
from secfc.protocol.job.cases import Predict
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.party import Party
from secfc.protocol.program.located import Claim, located
from secfc.protocol.program.prediction import given_labels, predicted
from secfc.protocol.program.whose_rows import Given, Labelled, labels_of_rows, rows_of


@dataclass(frozen=True, kw_only=True)
class Brought:
    """What a party brings to a run.

    `value` is its own value of the coin, and `commitments` are to those of the comparers. `start` are the
    given first sets of all planned rows, if the job begins with labels; of a prediction what everybody is
    told of them. In a prediction `labels` are those of its own rows, and it demands sets of `smallest_set`
    rows. In a simulation that `repeats` what is drawn in secret follows from the job's seed.
    """

    run: bytes = field(repr=False)
    rows: Given
    value: bytes = field(repr=False)
    commitments: Mapping[int, bytes] = field(repr=False)
    start: Labels | None = field(repr=False)
    repeats: bool = False
    labels: Labels | None = field(default=None, repr=False)
    smallest_set: int = 1


class Watching(Protocol):
    """Is told what everybody learns. It may refuse it with an error, which ends the run for this party."""

    def rows_are(self, shared: SharedRows) -> None:
        """Rows were shared, and some may be left out."""

    def sets_are(self, start: Labels) -> None:
        """The first sets of the rows that are in, if they are public."""

    def round_is(self, number: int) -> None:
        """A round begins, counted from 1."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """How a run ended. `start` are the first sets of all rows.

    Sets of rows that were drawn in secret nobody knows: they are -1. `claimed` are at the coordinator holders
    that sent wrong shares, as the evaluators say.
    """

    labels: Labelled
    start: Labels = field(repr=False)
    n_iter: int
    converged: bool
    claimed: tuple[Claim, ...]


def whole_run(
    me: Party, job: Job, planned: Layout, brought: Brought, watching: Watching
) -> Generator[None, None, Found | None]:
    """Cluster the rows of a layout. None at a client that is left out.

    RangeError for rows beyond the bound, ParameterError if the rows that are in do not fit the job.
    """
    given = None
    if isinstance(job.method, Predict) and brought.start is not None:
        given = yield from given_labels(
            me, planned, job.k, marks=brought.start, own=brought.labels, smallest_set=brought.smallest_set
        )
    shared = yield from rows_of(me, job, planned, brought.rows)
    inside = me.number not in shared.left_out
    if inside:
        watching.rows_are(shared)
        shared.layout.check(job)
    coin = yield from tossed(me, brought.run, brought.value, brought.commitments)
    if not inside:  # those who compare have told that they were told the same
        return None
    layout = shared.layout
    yield from check_range(me, shared.rows, layout, radius=job.radius, coin=coin)
    weights = np.ones(layout.m, dtype=np.int64) if layout.weights is None else layout.weights
    if given is not None:  # nobody is left out of a prediction
        own = yield from predicted(me, layout, shared.rows, given, weights, watching.round_is)
        claimed = (yield from located(me)) if job.max_liars else ()
        labels = Labelled(own=own)
        return Found(labels=labels, start=given.marks, n_iter=1, converged=True, claimed=claimed)
    if job.method.init == "k-means++":
        start = np.full(layout.m, -1, dtype=np.int32)
        repeated = np.random.default_rng(job.seed) if brought.repeats and job.seed is not None else None
        first = plus_plus(me, shared.rows, weights, job.k, repeated)
    else:
        start = _first_sets(job, planned, layout, brought.start, coin)
        watching.sets_are(start)
        first = public_sets(me, start, job.k)
    operations = Secure(me, shared.rows, first, weights, job.k, on_round=watching.round_is)
    fewest = Stopping(m=layout.m, max_iter=job.method.max_iter, tol_moved=job.method.tol_moved).fewest
    ended = yield from lloyd(operations, k=job.k, max_iter=job.method.max_iter, fewest=fewest)
    labels = yield from labels_of_rows(me, ended.labels, shared)
    claimed = (yield from located(me)) if job.max_liars else ()
    return Found(labels=labels, start=start, n_iter=ended.n_iter, converged=ended.converged, claimed=claimed)


def _first_sets(job: Job, planned: Layout, layout: Layout, given: Labels | None, coin: bytes) -> Labels:
    if given is None:
        seed = int.from_bytes(coin, "little") if job.seed is None else job.seed
        return random_partition(np.random.default_rng(seed), layout.m, job.k)
    parts = [given[planned.rows(j)] for j, count in enumerate(layout.counts, 1) if count]
    start = np.concatenate(parts)
    job.check_start(start)
    return start
