"""A secure iteration compared with scikit-learn's on the pooled rows: same machine, same run, one thread.

A client's iteration goes from a new assignment to its encoded coded distances. The server's goes from R
encoded answers to the next assignment. Plaintext is scikit-learn's own Lloyd step. They take turns in each
iteration of a real run, so that changes in machine speed affect all of them. A ratio compares the two times
of one turn. The results are medians over the turns with their quartiles.

A product of two large float64 matrices is timed in each turn too. A client's iteration is a product of k
vectors with its shares for each prime, and more. Its rate is that of these products alone.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import _k_means_lloyd
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from benchmarks.costs.machine import SIDE, matrix_product
from benchmarks.costs.setting import (
    PRECISION,
    Case,
    Setting,
    cpu_seconds,
    median,
    most_primes,
    quartiles,
    residues_of_rounds,
    run_apart,
    split_evenly,
    stated,
)
from secfc.field.array_types import Floats, Labels
from secfc.kmeans.sets import random_partition
from secfc.protocol.job.job import Job
from secfc.protocol.job.making import changed_job
from secfc.protocol.messages import SERVER
from secfc.protocol.messages.wire import Envelope
from secfc.protocol.progress import Progress
from secfc.sharing.row_checks import largest_norm

ITERATIONS = 12
"""Turns of a case. The first one is skipped, because it sums every row and may load compiled code."""

CASES = tuple(
    Case(m=m, d=d, k=k, n=n, t=4, ell=ell)
    for m, d, k in ((100_000, 100, 16), (60_000, 784, 10))
    for n, ell in ((15, 4), (11, 2), (9, 1))
)
QUICK_CASES = tuple(Case(m=20_000, d=50, k=16, n=n, t=1, ell=ell) for n, ell in ((9, 4), (5, 2), (3, 1)))


@dataclass(frozen=True, kw_only=True)
class IterationRow(Setting):
    """The times of a case: medians of CPU seconds, and of ratios with their quartiles.

    `turns` is the number of iterations for the medians. `moved` is the median number of rows that changed
    cluster in one. `near_ties` is the number of comparisons in the run that exact integers decided.
    `matrix_rate` is the machine's, in 10^9 operations a second. `client_rate` is relative to it.
    """

    turns: int
    moved: int
    near_ties: int
    plaintext_seconds: float
    client_seconds: float
    server_seconds: float
    matrix_rate: float
    client_rate: float
    client_ratio: float
    client_ratio_quartiles: tuple[float, float]
    server_ratio: float
    server_ratio_quartiles: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Turns:
    """Seconds of each turn of one or more runs, in order, for one thread and one client."""

    plaintext: Floats
    client: Floats
    server: Floats
    matrices: Floats
    moved: list[int]
    near_ties: int
    residues: int


def plaintext_steps(rows: Floats, start: Labels, k: int) -> Iterator[float]:
    """Seconds of each of scikit-learn's Lloyd iterations from the means of a start, on one thread."""
    m, d = rows.shape
    centres = np.array([rows[start == h].mean(axis=0) for h in range(k)])
    following, sizes, shift = np.zeros((k, d)), np.zeros(k), np.zeros(k)
    weights, labels = np.ones(m), np.full(m, -1, dtype=np.int32)
    while True:
        started = time.thread_time()
        _k_means_lloyd.lloyd_iter_chunked_dense(rows, weights, centres, following, sizes, labels, shift, 1)
        seconds = time.thread_time() - started
        centres, following = following, centres
        yield seconds


class _Clock:
    """Adds up the seconds of each round. scikit-learn and a matrix product take one turn in each round."""

    def __init__(self, plaintext: Iterator[float], n: int) -> None:
        self._plaintext, self._n = plaintext, n
        self.client: dict[int, float] = defaultdict(float)
        self.server: dict[int, float] = defaultdict(float)
        self.plain: dict[int, float] = {}
        self._product, self.matrices = matrix_product(), dict[int, float]()
        self.moved: dict[int, int] = {}

    def delivered(self, header: Envelope, seconds: float) -> None:
        if header.work != "iterate" or header.round == 0:  # round 0 requests parts of shares
            return
        if header.recipient == SERVER:
            self.server[header.round] += seconds
        else:
            self.client[header.round] += seconds / self._n
            if header.round not in self.plain:
                self.plain[header.round] = next(self._plaintext)
                self.matrices[header.round] = next(self._product)

    def progressed(self, standing: Progress) -> None:
        self.moved[standing.round] = standing.moved or 0


def blobs(case: Case) -> Floats:
    """Overlapping Gaussian clusters (standard deviation 20 in a box of side 20): rows keep moving."""
    rows, _ = make_blobs(case.m, case.d, centers=case.k, cluster_std=20.0, random_state=0)
    return np.ascontiguousarray(rows)


def take_turns(job: Job, rows: Floats, *, seeds: range) -> Turns:
    """Time clients, server and scikit-learn in turns, in one run for each seed.

    Parameters
    ----------
    job : Job
    rows : ndarray of shape (m, d), float64
        They are split evenly among the clients.
    seeds : range
        Seeds of the random starts.
    """
    setups = [split_evenly(changed_job(job, seed=seed), rows) for seed in seeds]
    times: list[tuple[float, ...]] = []
    moved: list[int] = []
    near_ties = residues = 0
    for one in setups:
        start = random_partition(np.random.default_rng(one.job.seed), rows.shape[0], job.k)
        clock = _Clock(plaintext_steps(rows, start, job.k), job.n)
        with threadpool_limits(1), cpu_seconds():
            outcome = run_apart(one, clock.progressed, clock.delivered)
        turns = sorted(clock.plain)[1:]
        kinds = (clock.plain, clock.client, clock.server, clock.matrices)
        times += [tuple(kind[turn] for kind in kinds) for turn in turns]
        moved += [clock.moved[turn] for turn in turns]
        near_ties += outcome.near_ties or 0
        asked = residues_of_rounds(outcome.costs.messages, m=rows.shape[0])
        residues = max(residues, most_primes(asked, job.k))
    plaintext, client, server, matrices = np.array(times).T
    return Turns(
        plaintext=plaintext,
        client=client,
        server=server,
        matrices=matrices,
        moved=moved,
        near_ties=near_ties,
        residues=residues,
    )


def measure_case(case: Case, *, precision: int = PRECISION) -> Iterator[IterationRow]:
    """Run the first iterations on overlapping clusters and time clients, server and scikit-learn in turns."""
    rows = blobs(case)
    job = case.job(bound=largest_norm(rows, name="rows"), precision=precision, max_iter=ITERATIONS)
    turns = take_turns(job, rows, seeds=range(1))
    operations = 2 * case.k * (case.d + 1) * -(-case.m // case.ell) * turns.residues
    matrix_rates = 2 * SIDE**3 / turns.matrices
    yield IterationRow(
        **stated(job, m=case.m, residues=turns.residues),
        turns=len(turns.moved),
        moved=int(median(turns.moved)),
        near_ties=turns.near_ties,
        plaintext_seconds=median(turns.plaintext),
        client_seconds=median(turns.client),
        server_seconds=median(turns.server),
        matrix_rate=median(matrix_rates) / 1e9,
        client_rate=median(operations / turns.client / matrix_rates),
        client_ratio=median(turns.client / turns.plaintext),
        client_ratio_quartiles=quartiles(turns.client / turns.plaintext),
        server_ratio=median(turns.server / turns.plaintext),
        server_ratio_quartiles=quartiles(turns.server / turns.plaintext),
    )
