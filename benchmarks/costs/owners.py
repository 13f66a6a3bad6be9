"""What an owner of rows costs a committee: CPU seconds of deposits, and of a run, by the number of owners."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.costs.iteration import blobs
from benchmarks.costs.scaling import fit_exponent
from benchmarks.costs.setting import PRECISION, Case, Setting, run_apart, same_kernels, stated
from secfc.drivers.committee import Committee
from secfc.drivers.setup import Setup
from secfc.limits import Limits
from secfc.protocol import deposits
from secfc.rows import largest_norm
from secfc.sealing.identity import check_signature

OWNERS, QUICK_OWNERS = (1000, 3000, 10_000), (20, 40)
ROWS = 10
"""Of each owner."""

BASE = Case(m=ROWS, d=20, k=16, n=11, t=4, ell=2)
QUICK_BASE = Case(m=ROWS, d=4, k=2, n=3, t=1, ell=1)
ITERATIONS = 2


@dataclass(frozen=True, kw_only=True)
class OwnersRow(Setting):
    """One cost; m counts the rows of all owners where they are most.

    Attributes
    ----------
    owners : tuple of int
        Numbers of owners, of `ROWS` rows each.
    cost : {"deposits", "run"}
        Dealing, sealing, opening and checking at all members; a run of two iterations with disclosure
        "labels", labels sealed and opened.
    seconds : tuple of float
        CPU seconds of all parties.
    milliseconds : tuple of float
        The same for each owner.
    residues_swept : tuple of int
        Primes at each number of owners: where they differ, the exponent includes that step.
    exponent : float
        Slope of log(seconds) against log(owners).
    deposit_bytes : int
        Bytes that an owner sends to each member.
    """

    owners: tuple[int, ...]
    cost: str
    seconds: tuple[float, ...]
    milliseconds: tuple[float, ...]
    residues_swept: tuple[int, ...]
    exponent: float
    deposit_bytes: int


def measure_owners(
    *, base: Case = BASE, owners: Sequence[int] = OWNERS, precision: int = PRECISION
) -> Iterator[OwnersRow]:
    """Measure both costs; one row each. A committee of a tenth of the fewest owners warms up."""
    with same_kernels(), threadpool_limits(1):
        _measure(base, max(2, owners[0] // 10), precision)
        points = [_measure(base, count, precision) for count in owners]
    made, _ = points[-1]
    for at, cost in enumerate(("deposits", "run")):
        seconds = tuple(found[at] for _, found in points)
        yield OwnersRow(
            **stated(made.job, m=ROWS * owners[-1], residues=len(made.call.primes)),
            owners=tuple(owners),
            cost=cost,
            seconds=seconds,
            milliseconds=tuple(1e3 * of / count for of, count in zip(seconds, owners, strict=True)),
            residues_swept=tuple(len(committee.call.primes) for committee, _ in points),
            exponent=fit_exponent(tuple(owners), seconds)[0],
            deposit_bytes=made.call.deposit_bytes(ROWS),
        )


def _measure(base: Case, count: int, precision: int) -> tuple[Committee, tuple[float, float]]:
    """CPU seconds of deposits and of the run; each member verifies signatures by itself."""
    rows = blobs(replace(base, m=ROWS * count))
    of_owners = np.array_split(rows, count)
    job = base.job(bound=largest_norm(rows, name="rows"), precision=precision, max_iter=ITERATIONS, seed=0)
    job = replace(job, disclosure="labels")
    started = time.process_time()
    with patch.object(deposits, "check_signature", check_signature.__wrapped__):
        made = Committee.of(job, of_owners, keeps=False)
    dealt = time.process_time()
    names = [f"member {j}" for j in range(1, job.n + 1)]
    run_apart(Setup(job=made.job, rows=of_owners, starts=None, names=names, limits=Limits(), committee=made))
    return made, (dealt - started, time.process_time() - dealt)
