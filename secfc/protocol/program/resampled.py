"""Clusterings of bootstrap samples of the rows, as partitions of all rows that nobody sees.

A resample is public counts. Rows that it leaves out are not in its run; then all rows get the label of the
nearest mean with which this ended. What is opened is how partitions overlap
(`secfc/operations/ending/overlaps.py`).
"""

from collections.abc import Callable, Generator, Mapping

import numpy as np

from secfc.field.array_types import Ints
from secfc.kmeans.consensus import Resampled, bootstrap
from secfc.kmeans.program import best_starts, fewest_moved
from secfc.operations.beginning.plus_plus import plus_plus
from secfc.operations.ending.overlaps import opened_tables
from secfc.operations.nearest import nearest
from secfc.operations.secure import Secure, SecureStarts, first_prime_of
from secfc.operations.sums import Sums
from secfc.protocol.job.job import Job
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared

OnRound = Callable[[int], None]


def resampled(
    me: Party,
    job: Job,
    rows: Rows,
    finals: Mapping[int, Shared],
    seed: int,
    *,
    repeats: bool,
    on_round: OnRound,
) -> Generator[None, None, Resampled | None]:
    """Tables of each k at holders, of the final sets of all rows first and then of resamples; None at others.

    `seed` decides which rows are in which resample. With `repeats` also what is drawn in secret follows from
    it.
    """
    partitions = {k: [first_prime_of(sets)] for k, sets in finals.items()}
    draws, again = bootstrap(seed, rows.m, k=job.k, resamples=job.method.resamples)
    for number, counts in enumerate(draws, 1):
        inside = np.flatnonzero(counts)
        part = rows.some(inside)
        for k, of_k in partitions.items():
            repeated = np.random.default_rng([seed, number, k]) if repeats else None
            means = yield from _means_of(me, job, part, counts[inside], k, repeated, on_round)
            me.round += 1
            on_round(me.round)
            of_k.append(first_prime_of((yield from nearest(me, means, rows, k=k))))
    tables = []
    for of_k in partitions.values():
        tables.append((yield from opened_tables(me, of_k)))
    found = [one for one in tables if one is not None]
    return Resampled(tables=found, again=again) if found else None


def _means_of(
    me: Party,
    job: Job,
    part: Rows,
    weights: Ints,
    k: int,
    repeated: np.random.Generator | None,
    on_round: OnRound,
) -> Generator[None, None, Sums]:
    """The means with which the best start with some rows ends, each as often as its weight."""

    def next_start(k: int) -> Secure:
        return Secure(me, part, plus_plus(me, part, weights, k, repeated), weights, k, on_round=on_round)

    method = job.method
    compares, fewest = method.n_init > 1, fewest_moved(method.tol_moved, part.m)
    starts = SecureStarts(me, part, weights, next_start, radius=job.radius, compares=compares, opens=False)
    numbers, most = (k,) * method.n_init, method.max_iter
    (best,) = yield from best_starts(starts, numbers, max_iter=most, fewest=fewest, opens=False)
    return best.ended.means
