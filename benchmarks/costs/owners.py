"""What owners of rows cost a committee, by their number: seconds and memory of deposits and of a run."""

import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.costs.iteration import blobs
from benchmarks.costs.setting import PRECISION, Case, Setting, run_apart, same_kernels, stated
from secfc.crypto.identity import check_signature
from secfc.drivers.deposits.committee import Committee
from secfc.drivers.setup import Setup
from secfc.field.array_types import Floats
from secfc.kernels.threads import Threads, cores
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import changed_job
from secfc.sharing import deposits
from secfc.sharing.row_checks import largest_norm

OWNERS, QUICK_OWNERS = (1000, 10_000, 100_000), (20, 40)
ROWS = 10
"""Rows of each owner."""

BASE = Case(m=ROWS, d=20, k=16, n=11, t=4, ell=2)
QUICK_BASE = Case(m=ROWS, d=4, k=2, n=3, t=1, ell=1)
ITERATIONS = 20
"""The most iterations. Few rows may need fewer."""


@dataclass(frozen=True, kw_only=True)
class OwnersRow(Setting):
    """One cost. m is the number of rows of all owners for the largest number of owners.

    Attributes
    ----------
    owners : tuple of int
        Numbers of owners, of `ROWS` rows each.
    cost : {"deposits", "run", "together"}
        "deposits": dealing, sealing, opening, and checks at all members. "run": a run with disclosure
        "labels", including sealing and opening of labels.
    iterations : tuple of int
        Of the run.
    wall_seconds : tuple of float
        In threads, as many as there are cores: other work on the machine adds to them.
    seconds : tuple of float
        CPU seconds of all parties.
    milliseconds : tuple of float
        The same per owner.
    residues_swept : tuple of int
        Primes at each number of owners. If they differ, the exponent includes that step.
    exponent : float
        Slope of log(seconds) against log(owners).
    peak_bytes : tuple of int
        Peak resident memory so far of the process with all rows and all parties.
    member_bytes : int
        The last of these, divided by the number of members.
    deposit_bytes : int
        Bytes that an owner sends to each member.
    """

    owners: tuple[int, ...]
    cost: str
    iterations: tuple[int, ...]
    wall_seconds: tuple[float, ...]
    seconds: tuple[float, ...]
    milliseconds: tuple[float, ...]
    residues_swept: tuple[int, ...]
    exponent: float
    peak_bytes: tuple[int, ...]
    member_bytes: int
    deposit_bytes: int


@dataclass(frozen=True, kw_only=True)
class Part:
    """Deposits or a run: CPU and wall-clock seconds, and the peak of memory so far."""

    seconds: float
    wall: float
    peak: int


def measure_owners(
    *, base: Case = BASE, owners: Sequence[int] = OWNERS, precision: int = PRECISION
) -> Iterator[OwnersRow]:
    """Measure both costs and their sum, one row each. A tenth of the fewest owners is the warm-up."""
    with same_kernels(), threadpool_limits(1):
        _run(*_deposit(base, max(2, owners[0] // 10), precision)[1:])
        points = []
        for count in owners:
            dealt, committee, rows = _deposit(base, count, precision)
            ran, iterations = _run(committee, rows)
            points.append((dealt, ran, len(committee.call.primes), iterations))
        call = committee.call
        of_deposits = np.array([(dealt.seconds, dealt.wall) for dealt, *_ in points])
        of_runs = np.array([(ran.seconds, ran.wall) for _, ran, *_ in points])
        peaks = tuple(ran.peak for _, ran, *_ in points)
        for name, both, peak in (
            ("deposits", of_deposits, tuple(dealt.peak for dealt, *_ in points)),
            ("run", of_runs, peaks),
            ("together", of_deposits + of_runs, peaks),
        ):
            seconds, walls = both.T.tolist()
            yield OwnersRow(
                **stated(committee.job, m=ROWS * owners[-1], residues=len(call.primes)),
                owners=tuple(owners),
                cost=name,
                iterations=tuple(count for *_, count in points),
                wall_seconds=tuple(walls),
                seconds=tuple(seconds),
                milliseconds=tuple(1e3 * of / count for of, count in zip(seconds, owners, strict=True)),
                residues_swept=tuple(primes for _, _, primes, _ in points),
                exponent=float(np.polyfit(np.log(owners), np.log(seconds), 1)[0]),
                peak_bytes=peak,
                member_bytes=peak[-1] // base.n,
                deposit_bytes=call.deposit_bytes(ROWS),
            )


def _deposit(base: Case, count: int, precision: int) -> tuple[Part, Committee, list[Floats]]:
    """Owners deal their rows. Each member verifies signatures itself."""
    rows = blobs(replace(base, m=ROWS * count))
    of_owners = np.array_split(rows, count)
    job = base.job(bound=largest_norm(rows, name="rows"), precision=precision, max_iter=ITERATIONS, seed=0)
    job = changed_job(job, disclosure="labels")
    started, wall = time.process_time(), time.perf_counter()
    with patch.object(deposits, "check_signature", check_signature.__wrapped__):
        committee = Committee.of(job, of_owners, keeps=False, threads=Threads(cores()))
    return _part(started, wall), committee, of_owners


def _run(committee: Committee, rows: list[Floats]) -> tuple[Part, int]:
    """A run on what was deposited, and its iterations."""
    job = committee.job
    names = [f"member {j}" for j in range(1, job.n + 1)]
    setup = Setup(job=job, rows=rows, starts=None, names=names, limits=Limits(), committee=committee)
    started, wall = time.process_time(), time.perf_counter()
    iterations = run_apart(setup).n_iter
    return _part(started, wall), iterations


def _part(started: float, wall: float) -> Part:
    """What was spent since these CPU and wall-clock seconds."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Part(seconds=time.process_time() - started, wall=time.perf_counter() - wall, peak=peak)
