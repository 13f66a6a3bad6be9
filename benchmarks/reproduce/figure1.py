"""The paper's Figure 1: seconds of an iteration against n, d and m, compared with a whole run of k-FED.

Defaults of the paper (section 5.1): n = 10, m = 1000, d = 20, k = 4, sigma = 1, t = ceil(n/3). The paper does
not give ell, nor the n, d and m of its figure; here ell is the largest possible. k-FED runs with
k' = 2 = sqrt(k), the number in its own theory.
"""

import time
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.costs.iteration import take_turns
from benchmarks.costs.setting import PRECISION, Case, median
from benchmarks.reproduce.synthetic import secfc_blobs
from plaintext_baselines import KFED
from secfc.field.array_types import Floats
from secfc.lagrange.basis import recovery_threshold
from secfc.sharing.row_checks import largest_norm

DEFAULTS = {"n": 10, "d": 20, "m": 1000}
CLUSTERS, LOCAL_CLUSTERS = 4, 2
SWEEPS: dict[str, tuple[int, ...]] = {
    "n": (10, 16, 25, 40, 64),
    "d": (20, 50, 100, 200, 400),
    "m": (1000, 2000, 5000, 10_000, 20_000),
}
QUICK_SWEEPS: dict[str, tuple[int, ...]] = {"n": (5, 10, 20), "d": (20, 40, 80), "m": (500, 1000, 2000)}

STARTS = 8
"""Random starts. At sigma = 1 a run ends after a few iterations, so one start would give few turns."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One point of the figure: medians of wall-clock seconds on one thread.

    An iteration is timed for one client and for the server, a run of k-FED for all parties and the server.
    """

    case: Case
    parties: list[Floats] = field(repr=False)
    client_seconds: float
    server_seconds: float
    kfed_seconds: float


def figure1_case(*, n: int, d: int, m: int) -> Case:
    """A point of the figure: t = ceil(n/3), and the largest ell with 2(ell + t) - 1 <= n."""
    t = -(-n // 3)
    ell = (n + 1) // 2 - t
    assert recovery_threshold(t, ell) <= n
    return Case(m=m, d=d, k=CLUSTERS, n=n, t=t, ell=ell)


def measured(swept: str, value: int, starts: int) -> Point:
    """One parameter of the figure at another value. Both methods take turns: a machine's speed varies."""
    case = figure1_case(**(DEFAULTS | {swept: value}))
    data = secfc_blobs(
        n_clusters=case.k,
        sigma=1.0,
        clusters_per_party=LOCAL_CLUSTERS,
        n_parties=case.n,
        n_rows=case.m,
        n_features=case.d,
    )
    rows = np.concatenate(data.parties)
    job = case.job(bound=largest_norm(rows, name="rows"), precision=PRECISION)
    turns, kfed = [], []
    for seed in range(starts):
        turns.append(take_turns(job, rows, seeds=range(seed, seed + 1)))
        kfed.append(_kfed_seconds(data.parties, seed))
    return Point(
        case=case,
        parties=data.parties,
        client_seconds=median(np.concatenate([one.client for one in turns])),
        server_seconds=median(np.concatenate([one.server for one in turns])),
        kfed_seconds=median(kfed),
    )


def _kfed_seconds(parties: list[Floats], seed: int) -> float:
    with threadpool_limits(1):
        started = time.perf_counter()
        KFED(CLUSTERS, local_clusters=LOCAL_CLUSTERS, random_state=seed).fit(parties)
        return time.perf_counter() - started
