"""A run from rows to the labels of their owners, as the program that every party runs."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, isfinite, nan
from typing import Protocol

import numpy as np

from secfc.field.array_types import Ints, Labels
from secfc.kmeans.clustering import LabelResult
from secfc.kmeans.consensus import Resampled
from secfc.kmeans.measures import Measures, calinski_harabasz
from secfc.kmeans.program import Kept, best_starts, fewest_moved
from secfc.kmeans.score import inertia_of
from secfc.kmeans.sets import random_partition
from secfc.operations.beginning.coin import tossed
from secfc.operations.beginning.in_range import check_range
from secfc.operations.beginning.plus_plus import plus_plus
from secfc.operations.beginning.rows import SharedRows
from secfc.operations.decoding.revealing import public_revealed
from secfc.operations.ending.cells import Counted, OwnColumns, described_cells
from secfc.operations.ending.centres import Opened
from secfc.operations.ending.noise import Noise, noise_of
from secfc.operations.ending.revealing import revealed
from secfc.operations.predicting.prediction import GivenLabels, given_labels, predicted
from secfc.operations.secure import Secure, SecureStarts
from secfc.operations.sums import Sums, public_sets
from secfc.protocol.job.cases import Coded, Predict
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.party import Party
from secfc.protocol.program.coded_run import coded_prediction, coded_run
from secfc.protocol.program.located import Claim, located
from secfc.protocol.program.resampled import resampled
from secfc.protocol.program.whose_rows import Given, Labelled, labels_of_rows, public_labels_of_rows, rows_of
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared

NextSets = Callable[[int], tuple[Labels, Generator[None, None, Shared]]]
"""From k to the first sets of the next start. Sets of rows that are drawn in secret nobody knows: -1."""


@dataclass(frozen=True, kw_only=True)
class Brought:
    """What a party brings to a run.

    `value` is its own value of the coin, and `commitments` are to those of the comparers. Without comparers
    the coordinator tosses alone, and is bound to nothing. `start` are the given first sets of all planned
    rows, if the job begins with labels; of a prediction what everybody is told of them. Where that hides them
    `labels` are those of its own rows. `smallest` is the most that a client demands of sets whose means are
    opened or predict labels. `columns` are a client's own, if the job describes some. In a simulation that
    `repeats` what is drawn in secret follows from the job's seed.
    """

    run: bytes = field(repr=False)
    rows: Given
    value: bytes = field(repr=False)
    commitments: Mapping[int, bytes] = field(repr=False)
    start: Labels | None = field(repr=False)
    repeats: bool = False
    labels: Labels | None = field(default=None, repr=False)
    smallest: int = 1
    columns: OwnColumns | None = field(default=None, repr=False)


class Watching(Protocol):
    """Is told what everybody learns. It may refuse it with an error, which ends the run for this party."""

    def union_is(self, layout: Layout, numbers: Ints | None) -> None:
        """The union of IDs was found, with a client's own rows. They are not shared yet."""

    def rows_are(self, shared: SharedRows) -> None:
        """Rows were shared, and some may be left out."""

    def sets_are(self, start: Labels, k: int) -> None:
        """The first k sets of the next start, of the rows that are in, if they are public."""

    def round_is(self, number: int, sets: Labels | None = None) -> None:
        """A round begins, counted from 1, with the means of these sets if they are public; -1 is no set."""

    def iteration_is(self, number: int, moved: int, inertia: Fraction | None) -> None:
        """With public sets: an assignment of a start, from 1, and how many rows moved.

        The coordinator knows the inertia.
        """


@dataclass(frozen=True, kw_only=True)
class Found:
    """How a run ended. `opened`, `counted` and `resampled` are what the job opens to this party.

    `results` are the best with each number of clusters, and `result` is the most suitable of them. With
    disclosure "coded" only the coordinator has others. Its labels are -1 where nobody knows all. `claimed`
    are at the coordinator holders that sent wrong shares, as the evaluators say.
    """

    labels: Labelled
    result: LabelResult
    results: Sequence[LabelResult]
    claimed: tuple[Claim, ...] = ()
    opened: Opened | None = field(default=None, repr=False)
    resampled: Resampled | None = None
    counted: Counted | None = field(default=None, repr=False)


def whole_run(
    me: Party, job: Job, planned: Layout, brought: Brought, watching: Watching
) -> Generator[None, None, Found | None]:
    """Cluster the rows of a layout. None at a client that is left out.

    RangeError for rows beyond the bound, ParameterError if the rows that are in do not fit the job.
    """
    given, noise = None, None if job.opened.noise is None else noise_of(job, planned)
    if job.hides_start and brought.start is not None:
        given = yield from given_labels(me, planned, job.k, marks=brought.start, own=brought.labels)
    shared = yield from rows_of(me, job, planned, brought.rows, watching.union_is)
    inside = me.number not in shared.left_out
    if inside:
        watching.rows_are(shared)
        shared.layout.check(job)
    coin = yield from tossed(me, brought.run, brought.value, brought.commitments)
    if not inside:  # those who compare have told that they were told the same
        return None
    layout = shared.layout
    weights = np.ones(layout.m, dtype=np.int64) if layout.weights is None else layout.weights
    next_sets = first_sets(me, job, shared.rows, weights, coin, repeats=brought.repeats)
    if job.method.init == "labels" and given is None:
        next_sets = given_sets(me, job, _inside(planned, layout, brought.start))
    if isinstance(job.disclosure, Coded):
        return (yield from _public_run(me, job, shared, next_sets, watching, brought.smallest))
    yield from check_range(me, shared.rows, layout, radius=job.radius, coin=coin)
    if given is not None:  # nobody is left out of a prediction
        found = yield from _predicted(me, job, shared, given, weights, brought, watching)
    else:
        found = yield from _clustered(me, job, shared, next_sets, weights, coin, noise, brought, watching)
    return replace(found, claimed=(yield from located(me)) if job.max_liars else ())


def _predicted(
    me: Party,
    job: Job,
    shared: SharedRows,
    given: GivenLabels,
    weights: Ints,
    brought: Brought,
    watching: Watching,
) -> Generator[None, None, Found]:
    """Each row without a label gets that of its nearest mean."""
    own = yield from predicted(
        me,
        shared.layout,
        shared.rows,
        given,
        weights,
        smallest=brought.smallest,
        on_round=watching.round_is,
    )
    nobody_knows = np.full(shared.layout.m, -1, dtype=np.int32)
    result = LabelResult(start=given.marks, labels=nobody_knows, k=job.k, n_iter=1, converged=True)
    return Found(labels=Labelled(own=own), result=result, results=[result])


def _clustered(
    me: Party,
    job: Job,
    shared: SharedRows,
    next_sets: NextSets,
    weights: Ints,
    coin: bytes,
    noise: Noise | None,
    brought: Brought,
    watching: Watching,
) -> Generator[None, None, Found]:
    """Lloyd's iterations from each start, and what is opened of the best."""
    layout, method = shared.layout, job.method
    firsts = dict[int, list[Labels]]()

    def next_start(k: int) -> Secure:
        start, first = next_sets(k)
        firsts.setdefault(k, []).append(start)
        if start.min() >= 0:
            watching.sets_are(start, k)
        return Secure(me, shared.rows, first, weights, k, on_round=watching.round_is)

    compares, opens = method.n_init > 1, job.disclosure.inertia
    starts = SecureStarts(
        me,
        shared.rows,
        weights,
        next_start,
        radius=job.radius,
        compares=compares,
        opens=opens,
        whole=bool(job.opened.to),
    )
    fewest = fewest_moved(method.tol_moved, layout.m)
    kept = yield from best_starts(starts, method.starts, max_iter=method.max_iter, fewest=fewest, opens=opens)
    results = _results_of(job, layout, kept, firsts)
    result = most_suitable(results)
    ends = {one.k: one.ended for one in kept if one.k in (method.compared or (job.k,))}
    final, opened, tables, counted = ends[result.k], None, None, None
    if job.opened.to:
        opened = yield from revealed(
            me, job, shared, final.labels, weights=weights, noise=noise, smallest=brought.smallest
        )
    if method.resamples:
        repeats, finals = brought.repeats and job.seed is not None, {k: one.labels for k, one in ends.items()}
        seed, on_round = seed_of(job, coin), watching.round_is
        tables = yield from resampled(me, job, shared.rows, finals, seed, repeats=repeats, on_round=on_round)
    labels = yield from labels_of_rows(me, final.labels, shared, most=job.k)
    if job.opened.described is not None:
        own = None if labels.own is None or brought.columns is None else (labels.own, brought.columns)
        counted = yield from described_cells(me, shared, job.opened.described, final.full, own)
    return Found(
        labels=labels, result=result, results=results, opened=opened, resampled=tables, counted=counted
    )


def _public_run(
    me: Party, job: Job, shared: SharedRows, next_sets: NextSets, watching: Watching, smallest: int
) -> Generator[None, None, Found]:
    """The same where the coordinator decodes distances, and everybody learns all labels."""
    layout, rows = shared.layout, shared.rows
    if isinstance(job.method, Predict):
        start = next_sets(job.k)[0]
        best = yield from coded_prediction(me, job, layout, rows, start, on_round=watching.round_is)
        results = [best]
    else:
        best, results = yield from coded_run(
            me,
            job,
            layout,
            rows,
            lambda k: next_sets(k)[0],
            on_round=watching.round_is,
            on_iteration=watching.iteration_is,
        )
    opened = yield from public_revealed(me, job, shared, best.labels, best.k, smallest=smallest)
    labels = public_labels_of_rows(me, best.labels, shared, most=job.k)
    return Found(labels=labels, result=best, results=results, opened=opened)


def _inside(planned: Layout, layout: Layout, given: Labels | None) -> Labels:
    """Given labels of the rows that are in."""
    assert given is not None
    return np.concatenate([given[planned.rows(j)] for j, count in enumerate(layout.counts, 1) if count])


def first_sets(me: Party, job: Job, rows: Rows, weights: Ints, coin: bytes, *, repeats: bool) -> NextSets:
    """Those of starts that are drawn: in public by the coin, or the job's seed, or in secret by k-means++.

    With `repeats` what is drawn in secret follows from the job's seed, if it has one.
    """
    if job.method.init == "k-means++":
        repeated = np.random.default_rng(job.seed) if repeats and job.seed is not None else None
        return lambda k: (np.full(rows.m, -1, dtype=np.int32), plus_plus(me, rows, weights, k, repeated))
    rng = np.random.default_rng(seed_of(job, coin))

    def drawn(k: int) -> tuple[Labels, Generator[None, None, Shared]]:
        sets = random_partition(rng, rows.m, k)
        return sets, public_sets(me, sets, k)

    return drawn


def seed_of(job: Job, coin: bytes) -> int:
    """That of public draws: the job's, or the coin."""
    return int.from_bytes(coin, "little") if job.seed is None else job.seed


def given_sets(me: Party, job: Job, sets: Labels) -> NextSets:
    """Those that are given. ParameterError unless each has a row."""
    job.check_start(sets)
    return lambda k: (sets, public_sets(me, sets, k))


def _results_of(
    job: Job, layout: Layout, kept: Sequence[Kept[Shared, Sums]], firsts: Mapping[int, Sequence[Labels]]
) -> list[LabelResult]:
    """Those of the numbers of clusters that the job asks for. `firsts` are the first sets of all starts.

    The ratio counts the clusters that had rows before the last assignment.
    """
    found = []
    total = _inertia(job, layout, kept[0])  # of one cluster, if several numbers are compared
    for one in kept:
        inertia, ratio = _inertia(job, layout, one), nan
        if inertia is not None and total is not None:
            ratio = calinski_harabasz(inertia, total=total, k=len(one.ended.full), m=layout.m)
        result = LabelResult(
            start=firsts[one.k][0 if one.best is None else one.best.number],
            labels=np.full(layout.m, -1, dtype=np.int32),
            k=one.k,
            n_iter=one.ended.n_iter,
            converged=one.ended.converged,
            opened=inertia,
            measures=Measures(calinski_harabasz=ratio) if job.method.compared else None,
            best=one.best,
        )
        if one.k in (job.method.compared or (job.k,)):
            found.append(result)
    return found


def most_suitable(found: Sequence[LabelResult]) -> LabelResult:
    """The one with the greatest Calinski-Harabasz ratio, of equals the one with the fewest clusters."""

    def ratio(one: LabelResult) -> float:
        value = nan if one.measures is None else one.measures.calinski_harabasz
        return value if isfinite(value) else -inf

    return max(found, key=ratio)


def _inertia(job: Job, layout: Layout, one: Kept[Shared, Sums]) -> float | None:
    return None if one.opened is None else job.in_data_units(inertia_of(one.opened, layout.weight))
