"""How seconds grow with n, t, ell, d, m and k, compared with the paper's complexity (section 4.2).

One parameter is swept at a time. The exponent is the slope of the least-squares line of log(seconds) against
log(parameter). The paper's exponent is the slope of its own formula at the same points, because a factor such
as log^2 n is not a power.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import log

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.costs.iteration import blobs, take_turns
from benchmarks.costs.setting import PRECISION, Case, Setting, median, same_kernels, stated
from benchmarks.costs.sharing import share_once
from secfc.protocol.job.job import Job
from secfc.sharing.row_checks import largest_norm

BASE = Case(m=16_000, d=64, k=8, n=23, t=4, ell=2)
SWEEPS: dict[str, tuple[int, ...]] = {
    "n": (11, 23, 47, 95),
    "t": (1, 2, 4, 8),
    "ell": (1, 2, 4, 8),
    "d": (32, 64, 128, 256),
    "m": (2000, 4000, 8000, 16_000),
    "k": (4, 8, 16, 32),
}
QUICK_BASE = Case(m=2000, d=16, k=4, n=7, t=1, ell=2)
QUICK_SWEEPS: dict[str, tuple[int, ...]] = {"n": (5, 7), "ell": (1, 2), "k": (4, 8)}

ITERATIONS = 8
PASSES = 5

PAPER: dict[str, tuple[str, Callable[[Case], float]]] = {
    "share": ("m_j d n log^2 n / ell", lambda c: c.m / c.n * c.d * c.n * log(c.n) ** 2 / c.ell),
    "client": ("k m d / ell", lambda c: c.k * c.m * c.d / c.ell),
    "server": (
        "k m (ell + t) log^2(ell + t)",
        lambda c: c.k * c.m * (c.ell + c.t) * log(c.ell + c.t) ** 2,
    ),
}
"""Operations of sharing a client's m_j = m/n rows, and of an iteration of a client and of the server."""


@dataclass(frozen=True, kw_only=True)
class ScalingRow(Setting):
    """One sweep of one cost. The setting is the base, in which the swept parameter varies.

    Attributes
    ----------
    swept : str
        The parameter that varies.
    values : tuple of int
        Its values.
    cost : {"share", "client", "server"}
        Sharing of one client's rows, one iteration of a client, or one of the server.
    seconds : tuple of float
        Medians on one thread: CPU seconds of sharing, wall-clock seconds of an iteration.
    residues_swept : tuple of int
        Primes at each value. If they differ, the exponent includes that step.
    exponent, exponent_error : float
        Slope in log-log, and its standard error (0 with two values).
    paper, paper_exponent
        The paper's formula and its slope at the same values.
    """

    swept: str
    values: tuple[int, ...]
    cost: str
    seconds: tuple[float, ...]
    residues_swept: tuple[int, ...]
    exponent: float
    exponent_error: float
    paper: str
    paper_exponent: float


def fit_exponent(values: tuple[int, ...], costs: tuple[float, ...]) -> tuple[float, float]:
    """Slope of log(costs) against log(values) by least squares, and its standard error."""
    x, y = np.log(values), np.log(costs)
    x, y = x - x.mean(), y - y.mean()
    slope = float(x @ y / (x @ x))
    free = len(values) - 2
    rest = y - slope * x
    return slope, float(np.sqrt(rest @ rest / free / (x @ x))) if free else 0.0


def measure_scaling(
    *,
    base: Case = BASE,
    sweeps: dict[str, tuple[int, ...]],
    precision: int = PRECISION,
    iterations: int = ITERATIONS,
    passes: int = PASSES,
) -> Iterator[ScalingRow]:
    """Measure every sweep, three rows each. A sweep must include the base's own value."""
    with same_kernels():
        for swept, values in sweeps.items():
            cases = [replace(base, **{swept: value}) for value in values]
            points = [_measure(case, precision, iterations, passes) for case in cases]
            here = points[values.index(getattr(base, swept))]
            for cost, (formula, operations) in PAPER.items():
                seconds = tuple(point.seconds[cost] for point in points)
                slope, error = fit_exponent(values, seconds)
                yield ScalingRow(
                    **stated(here.job, m=base.m, residues=here.residues),
                    swept=swept,
                    values=values,
                    cost=cost,
                    seconds=seconds,
                    residues_swept=tuple(point.residues for point in points),
                    exponent=slope,
                    exponent_error=error,
                    paper=formula,
                    paper_exponent=fit_exponent(values, tuple(operations(case) for case in cases))[0],
                )


@dataclass(frozen=True, kw_only=True)
class _Point:
    """Medians at one value."""

    job: Job
    residues: int
    seconds: dict[str, float]


def _measure(case: Case, precision: int, iterations: int, passes: int) -> _Point:
    rows = blobs(case)
    job = case.job(bound=largest_norm(rows, name="rows"), precision=precision, max_iter=iterations)
    turns = take_turns(job, rows, seeds=range(1))
    with threadpool_limits(1):
        share_once(job, rows)
        shared = median(share_once(job, rows).seconds for _ in range(passes)) / case.n
    seconds = {"share": shared, "client": median(turns.client), "server": median(turns.server)}
    return _Point(job=job, residues=turns.residues, seconds=seconds)
