"""The first sets of starts, one after the other: what everybody knows of them, and their shares."""

from collections.abc import Callable, Generator

import numpy as np

from secfc.field.array_types import Ints, Labels
from secfc.kmeans.start import random_partition
from secfc.operations.starts.plus_plus import plus_plus
from secfc.operations.starts.public import public_sets
from secfc.protocol.job.job import Job
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared

NextSets = Callable[[int], tuple[Labels, Generator[None, None, Shared]]]
"""From k to the first sets of the next start. Sets of rows that are drawn in secret nobody knows: -1."""


def first_sets(me: Party, job: Job, rows: Rows, weights: Ints, coin: bytes, *, repeats: bool) -> NextSets:
    """Those of starts that are drawn: in public by the coin, or the job's seed, or in secret by k-means++.

    With `repeats` what is drawn in secret follows from the job's seed, if it has one.
    """
    if job.method.init == "k-means++":
        repeated = np.random.default_rng(job.seed) if repeats and job.seed is not None else None
        return lambda k: (np.full(rows.m, -1, dtype=np.int32), plus_plus(me, rows, weights, k, repeated))
    rng = np.random.default_rng(int.from_bytes(coin, "little") if job.seed is None else job.seed)

    def drawn(k: int) -> tuple[Labels, Generator[None, None, Shared]]:
        sets = random_partition(rng, rows.m, k)
        return sets, public_sets(me, sets, k)

    return drawn


def given_sets(me: Party, job: Job, sets: Labels) -> NextSets:
    """Those that are given. ParameterError unless each has a row."""
    job.check_start(sets)
    return lambda k: (sets, public_sets(me, sets, k))
