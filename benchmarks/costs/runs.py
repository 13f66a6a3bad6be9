"""Whole runs compared with n + 1 plaintext runs from the same start: CPU and wall seconds, and labels.

n + 1 parties work in a secure run. So the comparison is n + 1 runs of scikit-learn on the pooled rows, the
cost of the same number of machines without privacy. CPU seconds are those of every process, including its
start and message transport. A run that finds its start by k-means++ is compared with plaintext runs that
find one too, before they continue from the same start.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

import secfc
from benchmarks.costs.setting import (
    DISCLOSURES,
    PRECISION,
    Case,
    Setting,
    median,
    most_primes,
    quartiles,
    quiet_run,
    residues_of_rounds,
    stated,
)
from secfc.api.options import Driver
from secfc.api.result import Result
from secfc.field.array_types import Floats
from secfc.operations.beginning.plus_plus import candidates_of, repeated_draws
from secfc.protocol.job.options import Disclosure

DRIVERS: tuple[Driver, ...] = ("in-process", "multiprocess")
REPEATS = 3
CLUSTER_STD = 8.0
"""With this deviation clusters overlap and a run takes tens of iterations. With 20 it takes hundreds."""

CASES = (
    Case(m=10_000, d=50, k=8, n=11, t=4, ell=2),
    Case(m=100_000, d=100, k=16, n=11, t=4, ell=2),
    Case(m=3010, d=10, k=4, n=301, t=4, ell=2),
)
SMALL = 10_000
"""Up to so many rows each disclosure is measured; beyond, and with very many parties, "coded" alone."""

MOST_PROCESSES = 100
"""The most parties of a case that runs with one process per party."""

QUICK_CASES = (Case(m=600, d=8, k=3, n=5, t=1, ell=2),)


@dataclass(frozen=True, kw_only=True)
class RunRow(Setting):
    """Medians over repeated runs.

    Attributes
    ----------
    driver, disclosure : str
    repeats, n_iter, near_ties : int
    labels_equal : bool
        Whether every repeat's labels equal scikit-learn's.
    differing_rows : int
        The most rows that differ in a repeat.
    bytes : int
        Bytes sent by all parties.
    peak_bytes : int or None
        Peak resident memory of a new interpreter that does nothing but this run, libraries included. None
        with a process per party, and without Linux's /proc.
    cpu_seconds, wall_seconds : float
        CPU seconds of every process; wall-clock seconds from the call to its result.
    plaintext_cpu_seconds, plaintext_wall_seconds : float
        Seconds of n + 1 runs of scikit-learn, one after another, on one thread, with k-means++ if the run's
        start is by k-means++.
    cpu_ratio, wall_ratio : float
    """

    driver: str
    disclosure: str
    repeats: int
    n_iter: int
    near_ties: int
    labels_equal: bool
    differing_rows: int
    bytes: int
    peak_bytes: int | None
    cpu_seconds: float
    wall_seconds: float
    plaintext_cpu_seconds: float
    plaintext_wall_seconds: float
    cpu_ratio: float
    cpu_ratio_quartiles: tuple[float, float]
    wall_ratio: float
    wall_ratio_quartiles: tuple[float, float]


def blobs(case: Case) -> Floats:
    """Gaussian clusters that overlap moderately."""
    rows, _ = make_blobs(case.m, case.d, centers=case.k, cluster_std=CLUSTER_STD, random_state=0)
    return np.ascontiguousarray(rows)


def measure_case(case: Case, *, precision: int = PRECISION, repeats: int = REPEATS) -> Iterator[RunRow]:
    """Measure a case with each driver; many parties only in one process."""
    for driver in DRIVERS if case.n <= MOST_PROCESSES else DRIVERS[:1]:
        each = DISCLOSURES if case.m <= SMALL and case.n <= MOST_PROCESSES else DISCLOSURES[:1]
        for disclosure in each:
            yield _measure(case, driver, disclosure, precision, repeats)


def _measure(case: Case, driver: Driver, disclosure: Disclosure, precision: int, repeats: int) -> RunRow:
    """Repeat: run a case to its end, then scikit-learn n + 1 times from the same start."""
    rows = blobs(case)
    parties = np.array_split(rows, case.n)
    with threadpool_limits(1):
        # Load compiled code and touch memory pages before anything is timed.
        options = {"precision": precision, "seed": 0, "disclosure": disclosure}
        quiet_run(parties, case, max_iter=2, **options)
        taken = [_repeat(rows, parties, case, driver=driver, **options) for _ in range(repeats)]
    result = taken[-1][0]
    secure = np.array([one[1] for one in taken])
    plain = np.array([one[3] for one in taken])
    ratios = secure / plain
    differing = max(int((np.concatenate(one[0].labels) != one[2].labels_).sum()) for one in taken)
    asked = residues_of_rounds(result.costs.messages, m=case.m) if disclosure == "coded" else []
    # With "labels" rounds have the primes of the run.
    residues = most_primes(asked, case.k) if asked else result.job.residues(case.m)
    return RunRow(
        **stated(
            result.job,
            m=case.m,
            residues=residues,
            roles=result.job.parties + 1 if driver == "in-process" else 1,
        ),
        driver=driver,
        disclosure=disclosure,
        repeats=repeats,
        n_iter=result.n_iter,
        near_ties=result.near_ties or 0,
        labels_equal=differing == 0,
        differing_rows=differing,
        bytes=sum(message.size for message in result.costs.messages),
        peak_bytes=_peak_bytes(rows, case, options) if driver == "in-process" else None,
        cpu_seconds=median(secure[:, 0]),
        wall_seconds=median(secure[:, 1]),
        plaintext_cpu_seconds=median(plain[:, 0]),
        plaintext_wall_seconds=median(plain[:, 1]),
        cpu_ratio=median(ratios[:, 0]),
        cpu_ratio_quartiles=quartiles(ratios[:, 0]),
        wall_ratio=median(ratios[:, 1]),
        wall_ratio_quartiles=quartiles(ratios[:, 1]),
    )


_ALONE = """
import json, sys
import numpy as np, secfc
from threadpoolctl import threadpool_limits
parties = np.array_split(np.load(sys.argv[1]), int(sys.argv[2]))
with threadpool_limits(1):
    secfc.run(parties, **json.loads(sys.argv[3]))
print(open("/proc/self/status").read())
"""


def _peak_bytes(rows: Floats, case: Case, options: dict[str, Any]) -> int | None:
    """Peak resident memory of a run alone. None without Linux's /proc.

    VmHWM, because the peak of getrusage(2) begins with that of the process that started the interpreter.
    """
    if not Path("/proc/self/status").exists():
        return None
    package = str(Path(secfc.__file__).resolve().parent.parent)
    given = options | {"k": case.k, "t": case.t, "ell": case.ell, "max_iter": 300}
    with tempfile.TemporaryDirectory(prefix="secfc-bench-") as folder:
        path = Path(folder, "rows.npy")
        np.save(path, rows)
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _ALONE, path, str(case.n), json.dumps(given)],
            env={**os.environ, "PYTHONPATH": package},
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
    return 1024 * next(int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("VmHWM:"))


_Seconds = tuple[float, float]  # CPU, wall-clock


def _repeat(
    rows: Floats, parties: list[Floats], case: Case, **options: Any
) -> tuple[Result, _Seconds, Any, _Seconds]:
    result, seconds = timed(lambda: quiet_run(parties, case, max_iter=300, **options))
    job, start = result.job, np.concatenate(result.start)
    drawn = job.method.init == "k-means++"
    if drawn and job.seed is not None:
        start = repeated_draws(rows, job.k, unit=job.unit, seed=job.seed)
    centres = np.array([rows[start == h].mean(axis=0) for h in range(case.k)])

    def plaintext() -> KMeans:
        for _ in range(case.n + 1):
            if drawn:
                kmeans_plusplus(rows, case.k, random_state=0, n_local_trials=candidates_of(case.k))
            model = KMeans(case.k, init=centres, n_init=1, algorithm="lloyd", tol=0).fit(rows)
        return model

    model, plain = timed(plaintext)
    return result, seconds, model, plain


def timed(work: Callable[[], Any]) -> tuple[Any, _Seconds]:
    """The result of `work`, its CPU seconds, including ended child processes, and its wall-clock seconds."""
    before, started = _cpu_seconds(), time.perf_counter()
    done = work()
    return done, (_cpu_seconds() - before, time.perf_counter() - started)


def _cpu_seconds() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    usages = [resource.getrusage(kind) for kind in kinds]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
