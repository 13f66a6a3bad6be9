"""One secure iteration beside one of scikit-learn's on the pooled rows: same machine, same run, one thread.

A client's iteration: a new assignment in, its encoded coded distances out. The server's: R encoded answers
in, the next assignment out. Plaintext: scikit-learn's own Lloyd step. They take turns, iteration by
iteration of a real run, so that a machine whose speed drifts slows all of them; a ratio compares the two
times of one turn, and medians over the turns are shown with their quartiles.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import _k_means_lloyd
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from secfc._arrays import Floats, Labels
from secfc.drivers.in_process import run_in_process
from secfc.drivers.setup import Setup
from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.kmeans.start import random_partition
from secfc.params import Job, Limits
from secfc.protocol.messages import SERVER
from secfc.protocol.wire import Envelope
from secfc.rows import largest_norm

ITERATIONS = 12
"""Turns of a case; the first, which sums every row and may load compiled code, is left out."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A size to measure: rows, columns, clusters, clients, t, ell."""

    m: int
    d: int
    k: int
    n: int
    t: int
    ell: int


CASES = tuple(
    Case(m=m, d=d, k=k, n=n, t=4, ell=ell)
    for m, d, k in ((100_000, 100, 16), (60_000, 784, 10))
    for n, ell in ((15, 4), (11, 2), (9, 1))
)
QUICK_CASES = tuple(Case(m=20_000, d=50, k=8, n=n, t=1, ell=ell) for n, ell in ((9, 4), (5, 2), (3, 1)))


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a case took: medians of wall-clock seconds, and of ratios with their quartiles.

    `residues` is the number of primes of an iteration (the run's shares may hold one more), `moved` the
    median number of rows that changed cluster in a turn, `bound` the norm bound that sets the data's scale.
    """

    m: int
    d: int
    k: int
    n: int
    t: int
    ell: int
    R: int
    precision: int
    bound: float
    residues: int
    turns: int
    moved: int
    near_ties: int
    plaintext_seconds: float
    client_seconds: float
    server_seconds: float
    client_ratio: float
    client_ratio_quartiles: tuple[float, float]
    server_ratio: float
    server_ratio_quartiles: tuple[float, float]


def plaintext_steps(rows: Floats, start: Labels, k: int) -> Iterator[float]:
    """Seconds of each of scikit-learn's Lloyd iterations from the means of a start, on one thread."""
    m, d = rows.shape
    centres = np.array([rows[start == h].mean(axis=0) for h in range(k)])
    following, sizes, shift = np.zeros((k, d)), np.zeros(k), np.zeros(k)
    weights, labels = np.ones(m), np.full(m, -1, dtype=np.int32)
    while True:
        started = time.perf_counter()
        _k_means_lloyd.lloyd_iter_chunked_dense(rows, weights, centres, following, sizes, labels, shift, 1)
        seconds = time.perf_counter() - started
        centres, following = following, centres
        yield seconds


class _Turns:
    """Adds up the seconds of each round as messages arrive; scikit-learn takes its turn after each."""

    def __init__(self, plaintext: Iterator[float], n: int) -> None:
        self._plaintext, self._n = plaintext, n
        self.client: dict[int, float] = defaultdict(float)
        self.server: dict[int, float] = defaultdict(float)
        self.plain: dict[int, float] = {}

    def delivered(self, header: Envelope, seconds: float) -> None:
        if header.work != "iterate":
            return
        if header.recipient == SERVER:
            self.server[header.round] += seconds
        else:
            self.client[header.round] += seconds / self._n
            if header.round not in self.plain:
                self.plain[header.round] = next(self._plaintext)

    def ratios(self, seconds: dict[int, float]) -> Floats:
        return np.array([seconds[turn] / self.plain[turn] for turn in self.turns])

    @property
    def turns(self) -> list[int]:
        return sorted(self.plain)[1:]


def blobs(case: Case) -> Floats:
    """Overlapping Gaussian clusters (standard deviation 20 in a box of side 20): rows keep moving."""
    rows, _ = make_blobs(case.m, case.d, centers=case.k, cluster_std=20.0, random_state=0)
    return np.ascontiguousarray(rows)


def measure(
    case: Case, rows: Floats, *, precision: int = 32, iterations: int = ITERATIONS, seed: int = 0
) -> Row:
    """Run the first iterations of a case and time clients, server and scikit-learn in turns."""
    bound = largest_norm(rows, name="rows")
    job = Job(
        n=case.n,
        k=case.k,
        t=case.t,
        ell=case.ell,
        d=case.d,
        bound=bound,
        precision=precision,
        max_iter=iterations,
    )
    setup = Setup(
        job=job,
        rows=np.array_split(rows, case.n),
        starts=None,
        names=[f"client {j}" for j in range(1, case.n + 1)],
        limits=Limits(),
        seed=seed,
    )
    start = random_partition(np.random.default_rng(seed), case.m, case.k)
    turns = _Turns(plaintext_steps(rows, start, case.k), case.n)
    moved: dict[int, int] = {}
    with threadpool_limits(1):
        outcome = run_in_process(
            setup, lambda standing: moved.update({standing.round: standing.moved}), turns.delivered
        )
    client, server = turns.ratios(turns.client), turns.ratios(turns.server)
    answer = sum(
        message.size
        for message in outcome.costs.messages
        if message.kind == "CodedDistances" and message.sender == 1 and message.round == turns.turns[-1]
    )
    return Row(
        m=case.m,
        d=case.d,
        k=case.k,
        n=case.n,
        t=case.t,
        ell=case.ell,
        R=job.threshold,
        precision=precision,
        bound=bound,
        residues=answer // (BYTES_PER_RESIDUE * case.m * case.k),
        turns=len(turns.turns),
        moved=int(np.median([moved[turn] for turn in turns.turns])),
        near_ties=outcome.near_ties,
        plaintext_seconds=_median(turns.plain[turn] for turn in turns.turns),
        client_seconds=_median(turns.client[turn] for turn in turns.turns),
        server_seconds=_median(turns.server[turn] for turn in turns.turns),
        client_ratio=_median(client),
        client_ratio_quartiles=_quartiles(client),
        server_ratio=_median(server),
        server_ratio_quartiles=_quartiles(server),
    )


def _median(values: Iterable[float]) -> float:
    return float(np.median(list(values)))


def _quartiles(values: Floats) -> tuple[float, float]:
    low, high = np.quantile(values, [0.25, 0.75])
    return float(low), float(high)
